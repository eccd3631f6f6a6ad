import type { HttpSettings } from '../schema/http-schema.ts';
import type { Resource } from '../schema/spec-schema.ts';

/** Whether every run reads all records of a resource, changed or not. */
export const readsAll = ({ incremental, forEach }: Pick<Resource, 'incremental' | 'forEach'>): boolean =>
  incremental === undefined && readsEveryPartition(forEach);

/** Whether every run fetches all records: no response may come from a cache or count as unchanged. */
export const fetchesAll = (resource: Pick<Resource, 'incremental' | 'forEach' | 'request' | 'target'>): boolean =>
  readsAll(resource) && (resource.request.cache.mode === 'none' || resource.target.mode === 'replace');

const readsEveryPartition = (forEach: Resource['forEach']): boolean =>
  forEach.every(({ select }) => select !== 'changed');

/**
 * Whether requests ask for everything up to now, in every partition. Others may end at the start of the run: a record
 * that changes meanwhile is in none of their lists.
 */
export const readsToNow = (
  { request, job, pagination, forEach }: Pick<Resource, 'request' | 'job' | 'pagination' | 'forEach'>,
  { baseUrl, query, headers }: Pick<HttpSettings, 'baseUrl' | 'query' | 'headers'>,
): boolean =>
  readsEveryPartition(forEach) &&
  !/\b(?:window|run)\b|\$(?:now|millis|toMillis)\b/.test(
    JSON.stringify([request, job, pagination, forEach, baseUrl, query, headers]).replaceAll(/\bwindow\.from\b/g, ''),
  );
