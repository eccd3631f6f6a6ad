import type { HttpResponse } from '../../model/http.ts';
import type { RateLimit } from '../../spec/schema/http-schema.ts';
import type { Source } from '../source.ts';

/** The rate limits of the buckets that the requests of a source take from. */
export const rateLimitsOf = ({ http, resource }: Pick<Source, 'http' | 'resource'>): readonly RateLimit[] => [
  http.rateLimit,
  ...(resource.request.rateLimit ? [resource.request.rateLimit] : []),
];

/** The remaining budget of the API by the header that `limit` names; NaN: it names none, or the response has none. */
export const leftOf = ({ headers: names }: RateLimit, { headers }: Pick<HttpResponse, 'headers'>): number =>
  Number.parseFloat(headers[names?.remaining?.toLowerCase() ?? ''] ?? '');

/** Requests that the API accepts before it requires a pause, by a response's headers; infinite if they do not say. */
export function budgetLeft(source: Pick<Source, 'http' | 'resource'>, response: Pick<HttpResponse, 'headers'>): number {
  const budgets = rateLimitsOf(source).map((limit) => leftOf(limit, response));
  return Math.min(...budgets.filter((left) => !Number.isNaN(left)));
}
