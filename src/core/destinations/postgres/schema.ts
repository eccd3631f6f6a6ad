import { AppError } from '../../errors.ts';
import type { Column, TargetTable } from '../destination.ts';
import { checkColumnNames, checkName, checkpointTable, nextTable, quoted } from '../sql/identifiers.ts';
import type { PreparedTable } from '../sql/record-fields.ts';
import { checkCheckpointTable, missingColumns } from '../sql/table-check.ts';
import { checkpointColumns, checkpointName, createCheckpointSql } from './checkpoint.ts';
import { addColumnsSql, createTableSql, recreateNextSql, tableSql } from './definitions.ts';
import { isDuplicateObject } from './errors.ts';
import type { Session } from './session.ts';
import { evolvedComment, readTables, type StoredTable } from './table.ts';
import { checkOurs, checkTypes } from './table-check.ts';
import { inTransaction } from './transaction.ts';

/** A target table that exists, with the schema it is in. */
export type PostgresTable = PreparedTable<StoredTable>;

/** Several creators at once: the loser finds the winner's work at its next attempt. */
const attemptsMax = 5;

/**
 * Creates what is missing of schema, table, columns and checkpoint table. Throws `destination_rejected`, before
 * anything is changed, when the table is not the service's.
 */
export async function prepareTable(session: Session, target: TargetTable): Promise<PostgresTable> {
  const schema = checkedSchema(target.schema ?? session.defaultSchema);
  checkName('table', target.table);
  checkColumnNames(target.columns.map(({ name }) => name));
  const place = { schema, target };
  for (let attempt = 1; ; attempt += 1) {
    const { stored, statements } = await findMissing(session, place);
    if (stored && statements.length === 0) return { schema, mode: target.mode, stored, written: writtenTable(target) };
    if (attempt > attemptsMax) throw new AppError('destination_unavailable', 'The tables keep changing; try again.');
    await runLocked(session, { schema, statements: async () => (await findMissing(session, place)).statements });
  }
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
  const foundNames = new Set(found?.columns.map(({ name }) => name));
  if (found && columns.every(({ name }) => foundNames.has(name))) return { ...prepared, stored: found };
  throw new AppError('destination_unavailable', 'The new columns were removed again at once; try again.');
}

function checkedSchema(schema: string | null): string {
  if (schema === null) {
    throw new AppError('destination_rejected', 'The destination names no schema and its role has none; name one.');
  }
  checkName('schema', schema);
  return schema;
}

interface Place {
  readonly schema: string;
  readonly target: TargetTable;
}

const writtenTable = ({ mode, table }: TargetTable): string => (mode === 'replace' ? nextTable(table) : table);

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
