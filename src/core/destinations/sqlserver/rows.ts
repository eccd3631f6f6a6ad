import { type ColumnWriter, type EncodedRows, isStorableId, unstorableId } from '../sql/record-rows.ts';
import { externalIdLengthMax } from './definitions.ts';
import type { ValueForm } from './values.ts';

export type SqlServerWriter = ColumnWriter & ValueForm;

export type SqlServerRows = EncodedRows<SqlServerWriter>;

/** Why no row can have this record id, as a sentence; `null` if one can. */
export function idIssue(externalId: string): string | null {
  if (!isStorableId(externalId)) return unstorableId;
  if (externalId.length > externalIdLengthMax) return `The record id is longer than ${externalIdLengthMax} characters.`;
  // Comparison pads with spaces, so "a" and "a " would be one record.
  return externalId.endsWith(' ')
    ? 'The record id ends in a space, which SQL Server ignores when it compares keys.'
    : null;
}
