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
