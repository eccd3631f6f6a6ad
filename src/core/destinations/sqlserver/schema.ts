import { AppError } from '../../errors.ts';
import type { Column } from '../destination.ts';
import { checkpointTable, ownersTable, quoted, tableSql } from '../sql/identifiers.ts';
import { lackingColumns } from '../sql/prepare-table.ts';
import type { PreparedTable } from '../sql/record-fields.ts';
import { hasGeneration } from '../sql/table-check.ts';
import { type FoundTables, type LockedWork, type Place, type TableKind, writtenTable } from '../sql/table-kind.ts';
import { alterCheckpointSql, checkpointColumns, createCheckpointSql, hasLane, tableIdSql } from './checkpoint.ts';
import {
  addColumnSql,
  copyColumnSql,
  createTableSql,
  dropTableSql,
  keyCollation,
  recreateNextSql,
} from './definitions.ts';
import type { Session } from './driver/session.ts';
import { createOwnersSql, ownSql, readOwner, takeSql } from './owners.ts';
import { isDuplicateObject } from './server-error.ts';
import { columnsTable, readRules, readTables, type StoredColumn, type StoredTable } from './table.ts';
import { checkOurs, checkTypes } from './table-check.ts';
import { withConflictRetries } from './transaction.ts';

export type SqlServerTable = PreparedTable<StoredTable>;

/** Milliseconds. */
const creatorLockMs = 30_000;

export const tableKind = (session: Session, orgId: string): TableKind<StoredTable> => ({
  orgId,
  defaultSchema: 'dbo',
  checkpointColumns,
  ownTables: [columnsTable],
  readTables: (schema, names) => readTables(session, { schema, names }),
  readOwner: (schema, table) => readOwner(session, { schema, table }),
  hasLane: (lane) => hasLane(session, lane),
  checkOurs,
  checkTypes,
  takeSql: (place, { tables, stored }) => [
    ...ownersSql(place, tables),
    takeSql({ schema: place.schema, table: stored?.name ?? place.target.table }, orgId),
  ],
  createSql: (place, found) => createSql({ session, orgId }, place, found),
  growSql: (prepared, columns) => growSql(session, prepared, columns),
  runLocked: (work) => withConflictRetries(session, () => runLocked(session, work)),
  isDuplicateObject,
});

const ownersSql = ({ schema }: Place, tables: FoundTables<StoredTable>['tables']): string[] =>
  tables?.has(ownersTable) ? [] : [createOwnersSql(schema)];

async function createSql(
  { session, orgId }: { readonly session: Session; readonly orgId: string },
  place: Place,
  { tables, stored, missing }: FoundTables<StoredTable>,
): Promise<readonly string[]> {
  const { schema, target } = place;
  // A schema must be created by a statement of its own; the rest follows at the next attempt.
  if (tables === null) return [`create schema ${quoted(schema)};`];
  const table = { schema, table: target.table };
  const statements: string[] = [];
  const checkpoint = tables.get(checkpointTable);
  if (!checkpoint) statements.push(createCheckpointSql(schema));
  else if (!hasGeneration(checkpoint)) statements.push(alterCheckpointSql(schema));
  statements.push(...ownersSql(place, tables));
  if (!tables.has(columnsTable)) statements.push(createNotesSql(schema));
  if (!stored) {
    // Gathered for a dropped table of this name; created again once the table exists.
    if (target.mode === 'replace') statements.push(dropTableSql(tableSql(schema, writtenTable(target))));
    statements.push(...createTableSql(tableSql(schema, target.table), target), ...ownSql(table, orgId));
    statements.push(...target.columns.map((column) => noteSql(table, column)));
  }
  statements.push(...addColumnsSql(table, missing));
  if (target.mode === 'replace' && stored) {
    const next = tables.get(writtenTable(target));
    statements.push(...(await prepareNext(session, { schema, target }, { stored, next, missing })));
  }
  return statements;
}

async function growSql(
  session: Session,
  { schema, stored, written }: SqlServerTable,
  columns: readonly Column[],
): Promise<readonly string[]> {
  const names = [...new Set([stored.name, written])];
  const tables = await readTables(session, { schema, names });
  return names.flatMap((name) => {
    const found = new Set(tables?.get(name)?.columns.map((column) => column.name));
    const missing = columns.filter((column) => !found.has(column.name));
    return addColumnsSql({ schema, table: name }, missing);
  });
}

interface Generations extends Pick<FoundTables<StoredTable>, 'missing'> {
  readonly stored: StoredTable;
  readonly next: StoredTable | undefined;
}

/**
 * A next generation that began for another table or for other types is recreated. Columns that the table has gained since are
 * added to it, and rows gathered there stay. Only columns with database rules make it start anew.
 */
async function prepareNext(
  session: Session,
  { schema, target }: Place,
  { stored, next, missing }: Generations,
): Promise<readonly string[]> {
  const name = writtenTable(target);
  if (next) checkOurs(next, { schema, mode: target.mode });
  const lacking = next ? lackingColumns(next, stored, hasTypeOf) : null;
  if (lacking?.length === 0) return addColumnsSql({ schema, table: name }, missing);
  // Copied once the table has all its columns.
  if (missing.length > 0) return [];
  const rules = await readRules(session, stored.id);
  const copies = lacking?.map((column) => copyColumnSql(tableSql(schema, name), column, rules));
  return copies?.every((sql) => sql !== null) ? copies : recreateNextSql(schema, { next: name, stored, rules });
}

const hasTypeOf = (one: StoredColumn, other: StoredColumn): boolean =>
  one.typeName === other.typeName &&
  one.length === other.length &&
  one.precision === other.precision &&
  one.scale === other.scale;

const createNotesSql = (schema: string): string => `
  create table ${tableSql(schema, columnsTable)} (
    table_id int not null,
    column_name nvarchar(128) collate ${keyCollation} not null,
    kind nvarchar(20) not null,
    is_evolved bit not null,
    primary key (table_id, column_name));`;

interface TableName {
  readonly schema: string;
  readonly table: string;
}

const addColumnsSql = (name: TableName, columns: readonly Column[]): string[] =>
  columns.flatMap((column) => [addColumnSql(tableSql(name.schema, name.table), column), noteSql(name, column)]);

/**
 * The catalog does not say this about a column. Replaces the note of an earlier column of its name. `is_evolved` was the mark of
 * earlier versions of the service; see `WrittenColumns`.
 */
function noteSql({ schema, table }: TableName, column: Column): string {
  const notes = tableSql(schema, columnsTable);
  const id = tableIdSql(schema, table);
  return `
    delete from ${notes} where table_id = ${id} and column_name = N'${column.name}';
    insert into ${notes} (table_id, column_name, kind, is_evolved)
    values (${id}, N'${column.name}', N'${column.type.kind}', 0);`;
}

async function runLocked(session: Session, { schema, statements }: LockedWork): Promise<void> {
  await session.query('begin transaction;');
  const [lock] = await session.query<{ result: number }>(applockSql, { resource: `connector-sync ${schema}` });
  if (lock === undefined || lock.result < 0) {
    throw new AppError('destination_unavailable', 'Another session keeps changing the tables; try again.');
  }
  for (const statement of await statements()) await session.query(statement);
  await session.query('commit transaction;');
}

const applockSql = `
  declare @result int;
  exec @result = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction',
    @LockTimeout = ${creatorLockMs};
  select @result as result;`;
