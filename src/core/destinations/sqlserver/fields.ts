import type { Column } from '../destination.ts';
import { addColumns } from '../sql/prepare-table.ts';
import { type FieldKind, type FieldMap, initialFields } from '../sql/record-fields.ts';
import type { Session } from './driver/session.ts';
import type { SqlServerWriter } from './rows.ts';
import { type SqlServerTable, tableKind } from './schema.ts';
import type { StoredColumn } from './table.ts';
import { formFor } from './values.ts';

/** The columns that batches write, and the table they are of. */
export type SqlServerFields = FieldMap<SqlServerTable, SqlServerWriter>;

/** The columns that a lane writes from its first batch on. */
export const sqlServerFields = (
  prepared: SqlServerTable,
  columns: Parameters<typeof initialFields>[1],
): SqlServerFields => initialFields(prepared, columns, writerOf);

/** What the rules for fields need of a session. */
export const fieldKind = (session: Session, orgId: string): FieldKind<SqlServerTable, SqlServerWriter> => ({
  addColumns: (prepared, columns) => addColumns(tableKind(session, orgId), prepared, columns),
  writerOf,
});

/** The spec says of a text column whether it holds JSON, also where the service did not make it. */
const writerOf = (column: StoredColumn, wanted?: Column): SqlServerWriter => ({
  name: column.name,
  nullable: column.nullable && (wanted?.nullable ?? true),
  ...formFor({ ...column, isJson: column.isJson || wanted?.type.kind === 'json' }),
});
