import * as v from 'valibot';
import type { IdPrefix } from '../core/ids.ts';
import { hasFormat } from '../core/spec/param-format.ts';
import { exampleId } from './inputs.ts';

const instantForm = 'expected an ISO 8601 time such as 2026-03-01T08:30:00Z; write the + of a zone as %2B';

/** A point in time in a query, of this era; the output is ISO 8601 in UTC. */
export const queryInstant = (description: string) =>
  v.pipe(
    v.string(),
    v.description(description),
    v.isoTimestamp(instantForm),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.issues && dataset.typed && !isInstant(dataset.value)) addIssue({ message: instantForm });
    }),
    v.transform((text) => new Date(text).toISOString()),
  );

/** An id as a filter. Its form is for the handler: one that names nothing is a 404. */
export const queryId = (prefix: IdPrefix, description: string) =>
  v.pipe(v.string(), v.description(description), v.examples([exampleId(prefix)]));

/** A value in a query that is compared with stored text. */
export const QueryText = v.pipe(
  v.string(),
  v.check((text) => !text.includes('\u0000'), 'holds the character U+0000'),
);

/** An instant that exists: neither 31 February nor, moved to UTC, a time before year 1. */
function isInstant(text: string): boolean {
  const ms = Date.parse(text);
  return hasFormat('date-time', text) && !Number.isNaN(ms) && ms >= firstMs;
}

const firstMs = Date.parse('0001-01-01T00:00:00Z');
