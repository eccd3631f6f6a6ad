import type { Resource } from '../schema/spec-schema.ts';

/**
 * Whether a run deletes the records that say that they are deleted, or leave the filter, at its end: only then is it known how
 * many there are. Where changes are not detected nothing is known to compare them with, and a table that is replaced has
 * a brake of its own.
 */
export const deletesAtEnd = ({ deletes, changeDetection, target }: Resource): boolean =>
  (deletes.mode === 'flag' || deletes.mode === 'endpoint') &&
  changeDetection.mode !== 'none' &&
  target.mode !== 'replace';

/**
 * Whether a record that the filter does not keep leaves only the partition in which it was read: its places are known, and
 * another partition may have it in a form that passes.
 */
export const leavesPartitions = ({ deletes, forEach }: Pick<Resource, 'deletes' | 'forEach'>): boolean =>
  deletes.mode === 'endpoint' && forEach.length > 0;
