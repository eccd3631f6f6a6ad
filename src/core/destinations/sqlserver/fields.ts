import type { Column, TargetTable } from '../destination.ts';
import { type FieldKind, type FieldMap, initialFields } from '../sql/record-fields.ts';
import { type ColumnWriter, isStorableId, unstorableId } from '../sql/record-rows.ts';
import { externalIdLengthMax } from './definitions.ts';
import type { Session } from './driver/session.ts';
import { addColumns, type SqlServerTable } from './schema.ts';
import type { StoredColumn } from './table.ts';
import { formFor, type ValueForm } from './values.ts';

/** How one column is filled. */
export type SqlServerWriter = ColumnWriter & ValueForm;

/** The columns that batches write, and the table they are of. */
export type SqlServerFields = FieldMap<SqlServerTable, SqlServerWriter>;

/** The columns that a lane writes from its first batch on. */
export const sqlServerFields = (prepared: SqlServerTable, target: TargetTable): SqlServerFields =>
  initialFields(prepared, target, writerOf);

/** What the rules for fields need of a session. */
export const fieldKind = (session: Session): FieldKind<SqlServerTable, SqlServerWriter> => ({
  addColumns: (prepared, columns) => addColumns(session, prepared, columns),
  writerOf,
});

/** The spec says of a text column whether it holds JSON, also where the service did not make it. */
const writerOf = (column: StoredColumn, wanted?: Column): SqlServerWriter => ({
  name: column.name,
  nullable: column.nullable && (wanted?.nullable ?? true),
  ...formFor({ ...column, isJson: column.isJson || wanted?.type.kind === 'json' }),
});

/** Why no row can have this record id, as a sentence; null when one can. */
export function idIssue(externalId: string): string | null {
  if (!isStorableId(externalId)) return unstorableId;
  if (externalId.length > externalIdLengthMax) return `The record id is longer than ${externalIdLengthMax} characters.`;
  // Comparison pads with spaces, so "a" and "a " would be one record.
  return externalId.endsWith(' ')
    ? 'The record id ends in a space, which SQL Server ignores when it compares keys.'
    : null;
}
