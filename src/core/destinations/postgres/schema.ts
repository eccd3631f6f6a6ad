import type { Column } from '../destination.ts';
import { checkpointTable, quoted, tableSql } from '../sql/identifiers.ts';
import {
  type FoundTables,
  hasColumnsOf,
  type LockedWork,
  type Place,
  type TableKind,
  writtenTable,
} from '../sql/prepare-table.ts';
import type { PreparedTable } from '../sql/record-fields.ts';
import { hasGeneration } from '../sql/table-check.ts';
import { alterCheckpointSql, checkpointColumns, createCheckpointSql } from './checkpoint.ts';
import { addColumnsSql, createTableSql, recreateNextSql } from './definitions.ts';
import { isDuplicateObject } from './errors.ts';
import type { Session } from './session.ts';
import { readTables, type StoredColumn, type StoredTable } from './table.ts';
import { checkOurs, checkTypes } from './table-check.ts';
import { inTransaction } from './transaction.ts';

/** A target table that exists, with the schema it is in. */
export type PostgresTable = PreparedTable<StoredTable>;

/** How PostgreSQL finds and creates tables. */
export const tableKind = (session: Session): TableKind<StoredTable> => ({
  defaultSchema: session.defaultSchema,
  checkpointColumns,
  ownTables: [],
  readTables: (schema, names) => readTables(session, { schema, names }),
  checkOurs,
  checkTypes,
  createSql: async (place, found) => createSql(place, found),
  growSql: async (prepared, columns) => growSql(prepared, columns),
  runLocked: (work) => runLocked(session, work),
  isDuplicateObject,
});

function createSql({ schema, target }: Place, { tables, stored, missing }: FoundTables<StoredTable>): string[] {
  const table = tableSql(schema, target.table);
  const statements: string[] = [];
  if (tables === null) statements.push(`create schema if not exists ${quoted(schema)}`);
  const checkpoint = tables?.get(checkpointTable);
  if (!checkpoint) statements.push(createCheckpointSql(schema));
  else if (!hasGeneration(checkpoint)) statements.push(alterCheckpointSql(schema));
  if (!stored) statements.push(...createTableSql(table, target));
  if (missing.length > 0) statements.push(addColumnsSql(table, missing));
  if (target.mode === 'replace') {
    const next = tables?.get(writtenTable(target));
    statements.push(...prepareNext({ schema, target }, { stored, next, missing }));
  }
  return statements;
}

function growSql({ schema, stored, written }: PostgresTable, columns: readonly Column[]): string[] {
  const tables = new Set([stored.name, written]);
  return [...tables].map((name) => addColumnsSql(tableSql(schema, name), columns));
}

interface Generations extends Pick<FoundTables<StoredTable>, 'stored' | 'missing'> {
  readonly next: StoredTable | undefined;
}

/** A next generation that began for another table, or for other columns, is dropped with its table. */
function prepareNext({ schema, target }: Place, { stored, next, missing }: Generations): string[] {
  const name = tableSql(schema, writtenTable(target));
  if (next) checkOurs(next, { schema, mode: target.mode });
  if (!stored || !next || !hasColumnsOf(next, stored, hasTypeOf))
    return recreateNextSql(name, tableSql(schema, target.table));
  return missing.length > 0 ? [addColumnsSql(name, missing)] : [];
}

const hasTypeOf = (one: StoredColumn, other: StoredColumn): boolean =>
  one.castType === other.castType && one.modifier === other.modifier;

async function runLocked(session: Session, { schema, statements }: LockedWork): Promise<void> {
  await inTransaction(session, async () => {
    await session.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`connector-sync ${schema}`]);
    const wanted = await statements();
    if (wanted.length > 0) await session.query(wanted.join(';\n'));
  });
}
