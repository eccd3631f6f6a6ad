import type * as real from '../../../../db/queries/runs/records/partition-changes.ts';

/** No simulated resource is read once per record of another one. */
export const findChangedPartitions: typeof real.findChangedPartitions = () =>
  Promise.reject(new Error('not simulated'));
