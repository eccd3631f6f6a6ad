import type { Column } from '../destination.ts';
import { checkpointTable, ownersTable, quoted, tableSql } from '../sql/identifiers.ts';
import { lackingColumns } from '../sql/prepare-table.ts';
import type { PreparedTable } from '../sql/record-fields.ts';
import { hasGeneration } from '../sql/table-check.ts';
import { type FoundTables, type LockedWork, type Place, type TableKind, writtenTable } from '../sql/table-kind.ts';
import { alterCheckpointSql, checkpointColumns, createCheckpointSql, hasLane } from './checkpoint.ts';
import { addColumnsSql, copyColumnsSql, createTableSql, recreateNextSql } from './definitions.ts';
import { isDuplicateObject } from './errors.ts';
import { createOwnersSql, ownSql, readOwner, takeSql } from './owners.ts';
import type { Session } from './session.ts';
import { readTables, type StoredColumn, type StoredTable } from './table.ts';
import { checkOurs, checkTypes } from './table-check.ts';
import { inTransaction } from './transaction.ts';

export type PostgresTable = PreparedTable<StoredTable>;

export const tableKind = (session: Session, orgId: string): TableKind<StoredTable> => ({
  orgId,
  defaultSchema: session.defaultSchema,
  checkpointColumns,
  ownTables: [],
  readTables: (schema, names) => readTables(session, { schema, names }),
  readOwner: (schema, table) => readOwner(session, { schema, table }),
  hasLane: (lane) => hasLane(session, lane),
  checkOurs,
  checkTypes,
  takeSql: (place, { tables, stored }) => [
    ...ownersSql(place, tables),
    takeSql({ schema: place.schema, table: stored?.name ?? place.target.table }, orgId),
  ],
  createSql: async (place, found) => createSql(place, found, orgId),
  growSql: async (prepared, columns) => growSql(prepared, columns),
  runLocked: (work) => runLocked(session, work),
  isDuplicateObject,
});

const ownersSql = ({ schema }: Place, tables: FoundTables<StoredTable>['tables']): string[] =>
  tables?.has(ownersTable) ? [] : [createOwnersSql(schema)];

function createSql(place: Place, found: FoundTables<StoredTable>, orgId: string): string[] {
  const { schema, target } = place;
  const { tables, stored, missing } = found;
  const table = tableSql(schema, target.table);
  const statements: string[] = [];
  if (tables === null) statements.push(`create schema if not exists ${quoted(schema)}`);
  const checkpoint = tables?.get(checkpointTable);
  if (!checkpoint) statements.push(createCheckpointSql(schema));
  else if (!hasGeneration(checkpoint)) statements.push(alterCheckpointSql(schema));
  statements.push(...ownersSql(place, tables));
  if (!stored) statements.push(...createTableSql(table, target), ownSql({ schema, table: target.table }, orgId));
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

/**
 * Recreates a next generation that began for another table or for other types. Columns that the table has gained since are added
 * to it, and rows gathered there stay. Only columns with database rules make it start anew.
 */
function prepareNext({ schema, target }: Place, { stored, next, missing }: Generations): string[] {
  const name = tableSql(schema, writtenTable(target));
  if (next) checkOurs(next, { schema, mode: target.mode });
  const lacking = stored && next ? lackingColumns(next, stored, hasTypeOf) : null;
  if (!lacking?.every(({ isPlain }) => isPlain)) return recreateNextSql(name, tableSql(schema, target.table));
  return [
    ...(lacking.length > 0 ? [copyColumnsSql(name, lacking)] : []),
    ...(missing.length > 0 ? [addColumnsSql(name, missing)] : []),
  ];
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
