import type { Resource } from '../schema/spec-schema.ts';

/** Whether every run reads all records of a resource, changed or not. */
export const readsAll = ({ incremental, forEach }: Pick<Resource, 'incremental' | 'forEach'>): boolean =>
  incremental === undefined && forEach.every(({ select }) => select !== 'changed');

/** Whether every run fetches all of them: no response may be taken from a cache, or said to be as it was. */
export const fetchesAll = (resource: Pick<Resource, 'incremental' | 'forEach' | 'request' | 'target'>): boolean =>
  readsAll(resource) && (resource.request.cache.mode === 'none' || resource.target.mode === 'replace');
