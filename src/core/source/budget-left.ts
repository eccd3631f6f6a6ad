import type { HttpAnswer } from '../http/client.ts';
import type { RateLimit } from '../spec/http-schema.ts';

/** What is left of the API's own budget by the header that `limit` names; NaN: it names none, or the answer has none. */
export const budgetLeft = ({ headers: names }: RateLimit, { headers }: Pick<HttpAnswer, 'headers'>): number =>
  Number.parseFloat(headers[names?.remaining?.toLowerCase() ?? ''] ?? '');
