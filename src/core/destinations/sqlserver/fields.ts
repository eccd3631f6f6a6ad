import type { Column } from '../destination.ts';
import { addColumns } from '../sql/prepare-table.ts';
import { type FieldKind, type FieldMap, initialFields } from '../sql/record-fields.ts';
import type { Session } from './driver/session.ts';
import type { SqlServerWriter } from './rows.ts';
import { type SqlServerTable, tableKind } from './schema.ts';
import type { StoredColumn } from './table.ts';
import { formFor } from './values.ts';

export type SqlServerFields = FieldMap<SqlServerTable, SqlServerWriter>;

export const sqlServerFields = (
  prepared: SqlServerTable,
  columns: Parameters<typeof initialFields>[1],
): SqlServerFields => initialFields(prepared, columns, writerOf);

export const fieldKind = (session: Session, orgId: string): FieldKind<SqlServerTable, SqlServerWriter> => ({
  addColumns: (prepared, columns) => addColumns(tableKind(session, orgId), prepared, columns),
  writerOf,
});

/** The spec says whether a text column holds JSON, even if the service did not make it. */
const writerOf = (column: StoredColumn, wanted?: Column): SqlServerWriter => ({
  name: column.name,
  nullable: column.nullable && (wanted?.nullable ?? true),
  ...formFor({ ...column, isJson: column.isJson || wanted?.type.kind === 'json' }),
});
