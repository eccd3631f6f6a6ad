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

/** The start of the newest week before a time: what is rare is looked for in it alone. No earlier than a database stores. */
export const weekBefore = (until: string | undefined): string => {
  const weekAgo = (until === undefined ? Date.now() : Date.parse(until)) - 7 * 24 * 3_600_000;
  return new Date(Math.max(weekAgo, Date.parse('0001-01-01T00:00:00Z'))).toISOString();
};

/** The address with its start, so that older pages keep the one of the first. */
export function withStart(address: string, since: string | undefined): string {
  const url = new URL(address, 'http://console');
  if (since !== undefined && !url.searchParams.get('from')) url.searchParams.set('from', timeField(since));
  return url.pathname + url.search;
}
