import type { HttpResponse } from '../../model/http.ts';
import type { RateLimit } from '../../spec/schema/http-schema.ts';
import type { Source } from '../source.ts';

/** Limits of all buckets that the requests of a source take from. */
export const rateLimitsOf = ({ http, resource }: Pick<Source, 'http' | 'resource'>): readonly RateLimit[] => [
  http.rateLimit,
  ...(resource.request.rateLimit ? [resource.request.rateLimit] : []),
];

/** NaN if `limit` names no header or the response lacks it. */
export const leftOf = ({ headers: names }: RateLimit, { headers }: Pick<HttpResponse, 'headers'>): number =>
  Number.parseFloat(headers[names?.remaining?.toLowerCase() ?? ''] ?? '');

/** Requests that the API accepts before a pause, or infinite if its headers do not say. */
export function budgetLeft(source: Pick<Source, 'http' | 'resource'>, response: Pick<HttpResponse, 'headers'>): number {
  const budgets = rateLimitsOf(source).map((limit) => leftOf(limit, response));
  return Math.min(...budgets.filter((left) => !Number.isNaN(left)));
}
