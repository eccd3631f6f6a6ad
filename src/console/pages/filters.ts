import * as v from 'valibot';
import { instant } from '../../api/instant.ts';
import { QueryText } from '../../api/query-inputs.ts';

/** Forms send an empty filter, which counts as none. */
export const filterText = v.optional(
  v.pipe(
    QueryText,
    v.transform((text) => (text === '' ? undefined : text)),
  ),
);

export const choice = <const Options extends readonly string[]>(of: v.PicklistSchema<Options, undefined>) =>
  v.optional(
    v.pipe(
      v.union([of, v.literal('')], `expected one of: ${of.options.join(', ')}`),
      v.transform((value) => (value === '' ? undefined : value)),
    ),
  );

/** A filter like {@link filterText}, for a time in UTC as a field `datetime-local` sends it; the output is ISO 8601. */
export const filterTime = v.optional(
  v.union([
    v.pipe(
      v.literal(''),
      v.transform(() => undefined),
    ),
    v.pipe(
      v.string(),
      v.transform((text) =>
        text.replace(
          /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?$/,
          (_all, minute, seconds = ':00') => `${minute}${seconds}Z`,
        ),
      ),
      instant('A time in UTC.'),
    ),
  ]),
);

/** A time of {@link filterTime} as the value of its field. */
export const timeField = (iso: string | undefined): string => iso?.slice(0, 16) ?? '';
