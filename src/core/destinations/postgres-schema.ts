import { AppError } from '../errors.ts';
import type { Column, TargetTable } from './destination.ts';
import { checkColumnNames, checkName, checkpointTable, quoted, shownName } from './identifiers.ts';
import { checkCheckpointTable, createCheckpointSql } from './postgres-checkpoint.ts';
import { isDuplicateObject } from './postgres-errors.ts';
import type { Session } from './postgres-session.ts';
import { checkOurs, evolvedComment, readTables, type StoredTable } from './postgres-table.ts';
import { inTransaction } from './postgres-transaction.ts';
import { postgresType } from './postgres-types.ts';

/** A target table that exists, with the schema it is in. */
export interface PreparedTable {
  readonly schema: string;
  readonly stored: StoredTable;
}

/** Several creators at once: the loser finds the winner's work at its next attempt. */
const attemptsMax = 5;

/**
 * Creates what is missing of schema, table, columns and checkpoint table. Throws `destination_rejected`, before
 * anything is changed, when the table is not the service's.
 */
export async function prepareTable(session: Session, target: TargetTable): Promise<PreparedTable> {
  const schema = checkedSchema(target.schema ?? session.defaultSchema);
  checkName('table', target.table);
  checkColumnNames(target.columns.map(({ name }) => name));
  for (let attempt = 1; ; attempt += 1) {
    const { stored, statements } = await findMissing(session, { schema, target });
    if (stored && statements.length === 0) return { schema, stored };
    if (attempt > attemptsMax) throw new AppError('destination_unavailable', 'The tables keep changing; try again.');
    await runLocked(session, {
      schema,
      statements: async () => (await findMissing(session, { schema, target })).statements,
    });
  }
}

/** Adds a column for each new field, marked as {@link StoredColumn.evolved}; returns the table as it then is. */
export async function addColumns(
  session: Session,
  { schema, stored }: PreparedTable,
  columns: readonly Column[],
): Promise<PreparedTable> {
  const table = tableSql(schema, stored.name);
  const comments = columns.map(({ name }) => `comment on column ${table}.${quoted(name)} is '${evolvedComment}'`);
  await runLocked(session, { schema, statements: async () => [addColumnsSql(table, columns), ...comments] });
  const found = (await readTables(session, { schema, names: [stored.name] }))?.get(stored.name);
  const names = new Set(found?.columns.map(({ name }) => name));
  if (found && columns.every(({ name }) => names.has(name))) return { schema, stored: found };
  throw new AppError('destination_unavailable', 'The new columns were removed again at once; try again.');
}

/** Schema and table as SQL. */
export const tableSql = (schema: string, table: string): string => `${quoted(schema)}.${quoted(table)}`;

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

async function findMissing(session: Session, { schema, target }: Place) {
  const tables = await readTables(session, { schema, names: [target.table, checkpointTable] });
  const stored = tables?.get(target.table);
  const checkpoint = tables?.get(checkpointTable);
  if (checkpoint) checkCheckpointTable(checkpoint, schema);
  const statements: string[] = [];
  if (tables === null) statements.push(`create schema if not exists ${quoted(schema)}`);
  if (!checkpoint) statements.push(createCheckpointSql(schema));
  if (!stored) statements.push(createTableSql({ schema, target }));
  else {
    checkOurs(stored, schema);
    const missing = missingColumns(target, stored);
    if (missing.length > 0) statements.push(addColumnsSql(tableSql(schema, stored.name), missing));
  }
  return { stored, statements };
}

/** With `evolve: none` an existing table stays as it is. Names that differ only in case are never both created. */
function missingColumns(target: TargetTable, stored: StoredTable): Column[] {
  const names = new Set(stored.columns.map(({ name }) => name));
  const lowerNames = new Set(stored.columns.map(({ name }) => name.toLowerCase()));
  const missing = target.columns.filter(({ name }) => !names.has(name));
  const twin = missing.find(({ name }) => lowerNames.has(name.toLowerCase()));
  if (twin) {
    const message = `The table has a column that differs from ${shownName(twin.name)} only in case; use its spelling.`;
    throw new AppError('destination_rejected', message);
  }
  return target.evolve === 'none' ? [] : missing;
}

/** Every column allows null in the database: a later version of the spec may stop to fill it. */
function createTableSql({ schema, target }: Place): string {
  return `create table if not exists ${tableSql(schema, target.table)} (${[
    '_connection_id text not null',
    '_external_id text not null',
    '_run_id text not null',
    '_synced_at timestamptz not null',
    '_deleted_at timestamptz',
    ...target.columns.map(columnSql),
    'primary key (_connection_id, _external_id)',
  ].join(', ')})`;
}

const addColumnsSql = (table: string, columns: readonly Column[]): string =>
  `alter table ${table} ${columns.map((column) => `add column if not exists ${columnSql(column)}`).join(', ')}`;

const columnSql = ({ name, type }: Column): string => `${quoted(name)} ${postgresType(type)}`;

interface LockedWork {
  readonly schema: string;
  /** Called under the lock, so that it sees what others created meanwhile. */
  readonly statements: () => Promise<readonly string[]>;
}

/** One creator per schema at a time; a creator that knows nothing of the lock shows up as a duplicate object. */
async function runLocked(session: Session, { schema, statements }: LockedWork): Promise<void> {
  try {
    await inTransaction(session, async () => {
      await session.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`connector-sync ${schema}`]);
      for (const statement of await statements()) await session.query(statement);
    });
  } catch (error) {
    if (!isDuplicateObject(error)) throw error;
  }
}
