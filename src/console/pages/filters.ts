import * as v from 'valibot';
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
