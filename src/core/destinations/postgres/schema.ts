import { AppError } from '../../errors.ts';
import type { Column, TargetTable } from '../destination.ts';
import { checkpointName, checkpointTable, quoted, tableSql } from '../sql/identifiers.ts';
import { checkNames, createMissing, grownBy, type Place, writtenTable } from '../sql/prepare-table.ts';
import type { PreparedTable } from '../sql/record-fields.ts';
import { checkCheckpointTable, missingColumns } from '../sql/table-check.ts';
import { checkpointColumns, createCheckpointSql } from './checkpoint.ts';
import { addColumnsSql, createTableSql, recreateNextSql } from './definitions.ts';
import { isDuplicateObject } from './errors.ts';
import type { Session } from './session.ts';
import { evolvedComment, readTables, type StoredTable } from './table.ts';
import { checkOurs, checkTypes } from './table-check.ts';
import { inTransaction } from './transaction.ts';

/** A target table that exists, with the schema it is in. */
export type PostgresTable = PreparedTable<StoredTable>;

/**
 * Creates what is missing of schema, table, columns and checkpoint table. Throws `destination_rejected`, before
 * anything is changed, when the table is not the service's.
 */
export async function prepareTable(session: Session, target: TargetTable): Promise<PostgresTable> {
  const schema = ownSchema(target.schema ?? session.defaultSchema);
  const place = { schema, target };
  checkNames(place);
  return await createMissing(place, {
    findMissing: () => findMissing(session, place),
    runLocked: (statements) => runLocked(session, { schema, statements }),
  });
}

/**
 * Adds a column for each new field; returns the table as it then is. It is marked as {@link StoredColumn.evolved},
 * unless in mode update: whoever else writes whole rows of the table would set it to null.
 */
export async function addColumns(
  session: Session,
  prepared: PostgresTable,
  columns: readonly Column[],
): Promise<PostgresTable> {
  const { schema, mode, stored, written } = prepared;
  const table = tableSql(schema, stored.name);
  const comments = columns.map(({ name }) => `comment on column ${table}.${quoted(name)} is '${evolvedComment}'`);
  const tables = new Set([table, tableSql(schema, written)]);
  const statements = [
    ...[...tables].map((name) => addColumnsSql(name, columns)),
    ...(mode === 'update' ? [] : comments),
  ];
  await runLocked(session, { schema, statements: async () => statements });
  const found = (await readTables(session, { schema, names: [stored.name] }))?.get(stored.name);
  return grownBy(prepared, columns, found);
}

function ownSchema(schema: string | null): string {
  if (schema !== null) return schema;
  throw new AppError('destination_rejected', 'The destination names no schema and its role has none; name one.');
}

async function findMissing(session: Session, { schema, target }: Place) {
  const names = [...new Set([target.table, writtenTable(target), checkpointTable])];
  const tables = await readTables(session, { schema, names });
  const stored = tables?.get(target.table);
  const checkpoint = tables?.get(checkpointTable);
  if (checkpoint) checkCheckpointTable(checkpoint, checkpointName(schema), checkpointColumns);
  if (stored) {
    checkOurs(stored, { schema, mode: target.mode });
    checkTypes(stored, { schema, columns: target.columns });
  }
  const missing = stored ? missingColumns(stored, target) : [];
  const statements: string[] = [];
  if (tables === null) statements.push(`create schema if not exists ${quoted(schema)}`);
  if (!checkpoint) statements.push(createCheckpointSql(schema));
  const table = tableSql(schema, target.table);
  if (!stored) statements.push(...createTableSql(table, target));
  if (missing.length > 0) statements.push(addColumnsSql(table, missing));
  if (target.mode === 'replace') {
    const next = tables?.get(writtenTable(target));
    statements.push(...prepareNext({ schema, target }, { stored, next, missing }));
  }
  return { stored, statements };
}

interface FoundTables {
  readonly stored: StoredTable | undefined;
  readonly next: StoredTable | undefined;
  readonly missing: readonly Column[];
}

/** A next generation that began for another table, or for other columns, is dropped with its table. */
function prepareNext({ schema, target }: Place, { stored, next, missing }: FoundTables): string[] {
  const name = tableSql(schema, writtenTable(target));
  if (next) checkOurs(next, { schema, mode: target.mode });
  if (!stored || !next || !hasColumnsOf(next, stored)) return recreateNextSql(name, tableSql(schema, target.table));
  return missing.length > 0 ? [addColumnsSql(name, missing)] : [];
}

function hasColumnsOf(next: StoredTable, { columns }: StoredTable): boolean {
  const found = new Map(next.columns.map((column) => [column.name, column]));
  return columns.every(({ name, castType, modifier, generated }) => {
    const column = found.get(name);
    return generated || (column?.castType === castType && column.modifier === modifier);
  });
}

interface LockedWork {
  readonly schema: string;
  /** The statements to run. Called under the lock, so that it sees what others created meanwhile. */
  readonly statements: () => Promise<readonly string[]>;
}

/**
 * Creates under a lock: one creator per schema at a time; a creator that knows nothing of the lock shows up as a
 * duplicate object.
 */
async function runLocked(session: Session, { schema, statements }: LockedWork): Promise<void> {
  try {
    await inTransaction(session, async () => {
      await session.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`connector-sync ${schema}`]);
      const wanted = await statements();
      if (wanted.length > 0) await session.query(wanted.join(';\n'));
    });
  } catch (error) {
    if (!isDuplicateObject(error)) throw error;
  }
}
