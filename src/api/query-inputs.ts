import * as v from 'valibot';
import type { IdPrefix } from '../core/ids.ts';
import { exampleId } from './inputs.ts';
import { instant } from './instant.ts';

export const queryInstant = (description: string) => instant(description, '; write the + of a zone as %2B');

/** The handler checks the form: an unknown id is a 404. */
export const queryId = (prefix: IdPrefix, description: string) =>
  v.pipe(v.string(), v.description(description), v.examples([exampleId(prefix)]));

export const QueryText = v.pipe(
  v.string(),
  v.check((text) => !text.includes('\u0000'), 'holds the character U+0000'),
);

const wholeFromOne = /^0*[1-9]\d*$/;

/** More than `max` counts as `max`. */
export const queryLimit = ({ usual, max }: { readonly usual: number; readonly max: number }) =>
  v.pipe(
    v.optional(v.string(), String(usual)),
    v.description(`How many, newest first: a whole number of at least 1; at most ${max} are returned.`),
    v.regex(wholeFromOne, 'expected a whole number of at least 1'),
    v.transform((text) => Math.min(Number(text), max)),
  );

/** Optional limit of a list that is otherwise complete; more than `max` counts as `max`. */
export const queryFirst = (max: number) =>
  v.optional(
    v.pipe(
      v.string(),
      v.description(`How many, newest first: a whole number of at least 1; at most ${max} are returned. Absent: all.`),
      v.regex(wholeFromOne, 'expected a whole number of at least 1'),
      v.transform((text) => Math.min(Number(text), max)),
    ),
  );
