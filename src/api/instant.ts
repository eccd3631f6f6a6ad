import * as v from 'valibot';
import { hasFormat } from '../core/spec/connection/param-format.ts';

const form = 'expected an ISO 8601 time such as 2026-03-01T08:30:00Z';

/** A point in time of this era; the output is ISO 8601 in UTC. `hint` follows the form in the issue of another text. */
export const instant = (description: string, hint = '') =>
  v.pipe(
    v.string(),
    v.description(description),
    v.isoTimestamp(form + hint),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.issues && dataset.typed && !isInstant(dataset.value)) addIssue({ message: form + hint });
    }),
    v.transform((text) => new Date(text).toISOString()),
  );

/** An instant that exists: neither 31 February nor, moved to UTC, a time before year 1 or after year 9999. */
function isInstant(text: string): boolean {
  const ms = Date.parse(text);
  return hasFormat('date-time', text) && ms >= firstMs && ms <= lastMs;
}

const firstMs = Date.parse('0001-01-01T00:00:00Z');
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');
