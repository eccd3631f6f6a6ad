import type { Resource } from '../schema/spec-schema.ts';

/** Whether every run reads all records of a resource, changed or not. */
export const readsAll = ({ incremental, forEach }: Pick<Resource, 'incremental' | 'forEach'>): boolean =>
  incremental === undefined && forEach.every(({ select }) => select !== 'changed');
