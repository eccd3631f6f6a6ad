import type { Column, TargetTable } from './destination.ts';
import { plainFormOf } from './postgres-arrays.ts';
import type { PostgresWriter } from './postgres-rows.ts';
import { addColumns, type PostgresTable } from './postgres-schema.ts';
import type { Session } from './postgres-session.ts';
import type { StoredColumn } from './postgres-table.ts';
import { toTextFor } from './postgres-values.ts';
import { type FieldKind, type FieldMap, initialFields } from './record-fields.ts';

/** The columns that batches write, and the table they are of. */
export type PostgresFields = FieldMap<PostgresTable, PostgresWriter>;

/** The columns that a lane writes from its first batch on. */
export const postgresFields = (prepared: PostgresTable, target: TargetTable): PostgresFields =>
  initialFields(prepared, target, writerOf);

/** What the rules for fields need of a session. */
export const fieldKind = (session: Session): FieldKind<PostgresTable, PostgresWriter> => ({
  addColumns: (prepared, columns) => addColumns(session, prepared, columns),
  writerOf,
});

function writerOf(column: StoredColumn, wanted?: Column): PostgresWriter {
  // A cast to timestamp would drop the offset; the session's time zone is UTC.
  const castType = column.typeName === 'timestamp' ? 'timestamptz' : column.castType;
  const form = plainFormOf(castType);
  const toText = toTextFor(column);
  return {
    name: column.name,
    castType,
    form,
    nullable: column.nullable && (wanted?.nullable ?? true),
    toCell: form === null ? toText : (value) => form.numberOf(value) ?? toText(value),
  };
}
