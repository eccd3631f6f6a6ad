import type { Resource } from '../schema/spec-schema.ts';

/** Whether a run acts on records missing from a list: it deletes them, or replaces the table. */
export const concludesAbsence = ({ deletes, target }: Pick<Resource, 'deletes' | 'target'>): boolean =>
  deletes.mode === 'full_scan' || target.mode === 'replace';
