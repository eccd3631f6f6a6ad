import type { Resource } from '../schema/spec-schema.ts';

/** Whether a run of the resource concludes from what a list does not have: it deletes records, or replaces the table. */
export const concludesAbsence = ({ deletes, target }: Pick<Resource, 'deletes' | 'target'>): boolean =>
  deletes.mode === 'full_scan' || target.mode === 'replace';
