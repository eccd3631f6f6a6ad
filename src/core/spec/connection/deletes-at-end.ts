import type { Resource } from '../schema/spec-schema.ts';

/**
 * Whether a run deletes records that are marked as deleted, or left the filter, only at its end, when their number is
 * known. Without change detection there is nothing to compare with; a replaced table has its own brake.
 */
export const deletesAtEnd = ({ deletes, changeDetection, target }: Resource): boolean =>
  (deletes.mode === 'flag' || deletes.mode === 'endpoint') &&
  changeDetection.mode !== 'none' &&
  target.mode !== 'replace';

/**
 * Whether a record that the filter drops leaves only the partition in which it was read. Its places are known, and
 * another partition may have it in a form that passes.
 */
export const leavesPartitions = ({ deletes, forEach }: Pick<Resource, 'deletes' | 'forEach'>): boolean =>
  deletes.mode === 'endpoint' && forEach.length > 0;
