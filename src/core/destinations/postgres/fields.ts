import type { Column } from '../destination.ts';
import { addColumns } from '../sql/prepare-table.ts';
import { type FieldKind, type FieldMap, initialFields } from '../sql/record-fields.ts';
import { plainFormOf } from './arrays.ts';
import type { PostgresWriter } from './rows.ts';
import { type PostgresTable, tableKind } from './schema.ts';
import type { Session } from './session.ts';
import type { StoredColumn } from './table.ts';
import { toTextFor } from './values.ts';

export type PostgresFields = FieldMap<PostgresTable, PostgresWriter>;

export const postgresFields = (prepared: PostgresTable, columns: Parameters<typeof initialFields>[1]): PostgresFields =>
  initialFields(prepared, columns, writerOf);

export const fieldKind = (session: Session, orgId: string): FieldKind<PostgresTable, PostgresWriter> => ({
  addColumns: (prepared, columns) => addColumns(tableKind(session, orgId), prepared, columns),
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
