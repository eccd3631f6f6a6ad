import * as v from 'valibot';
import { hasFormat } from '../core/spec/connection/param-format.ts';

const form = 'expected an ISO 8601 time such as 2026-03-01T08:30:00Z';

/** Converts to ISO 8601 in UTC; `hint` ends the issue of another form. */
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

/** Excludes 31 February, and times that in UTC are before year 1 or after year 9999. */
function isInstant(text: string): boolean {
  const ms = Date.parse(text);
  return hasFormat('date-time', text) && ms >= firstMs && ms <= lastMs;
}

const firstMs = Date.parse('0001-01-01T00:00:00Z');
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');
