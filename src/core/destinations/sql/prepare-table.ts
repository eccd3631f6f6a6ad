/** How a target table is made ready for a lane, and how it grows: the same for every kind of database. */
import { AppError } from '../../errors.ts';
import type { Column, TargetTable } from '../destination.ts';
import { checkColumnNames, checkName, checkpointTable, nextTable } from './identifiers.ts';
import type { PreparedTable } from './record-fields.ts';
import {
  type CheckedTable,
  checkCheckpointTable,
  missingColumns,
  type Purpose,
  type WantedColumns,
} from './table-check.ts';

/** A target table and its schema. */
export interface Place {
  readonly schema: string;
  readonly target: TargetTable;
}

/** How a kind of database finds and creates tables. */
export interface TableKind<Stored extends StoredTable> {
  /** The schema of a target that names none; null: there is no such schema. */
  readonly defaultSchema: string | null;
  /** The columns that identify the checkpoint table. */
  readonly checkpointColumns: readonly string[];
  /** The tables of the service that a schema has beside the checkpoint table. */
  readonly ownTables: readonly string[];
  /** Reads the given tables of a schema. Null when the schema is missing; tables that are missing are left out. */
  readTables(schema: string, names: readonly string[]): Promise<ReadonlyMap<string, Stored> | null>;
  /** Throws `destination_rejected` unless rows can be kept in the table as the mode says. */
  checkOurs(table: Stored, purpose: Purpose): void;
  /** Throws `destination_rejected` for a column whose type would change the values that the spec's type describes. */
  checkTypes(table: Stored, wanted: WantedColumns): void;
  /** The statements that create what is missing. Throws `destination_rejected` as {@link TableKind.checkOurs} does. */
  createSql(place: Place, found: FoundTables<Stored>): Promise<readonly string[]>;
  /** The statements that add columns for new fields. */
  growSql(prepared: PreparedTable<Stored>, columns: readonly Column[]): Promise<readonly string[]>;
  /** Creates under a lock: one creator per schema at a time. */
  runLocked(work: LockedWork): Promise<void>;
  /** Whether another session has created the same meanwhile. */
  isDuplicateObject(error: unknown): boolean;
}

/** A table as it is in the database. */
type StoredTable = CheckedTable & PreparedTable['stored'];

/** What is there when a table is prepared. */
export interface FoundTables<Stored> {
  /** The service's tables and those of the target, by name; null: their schema is missing. */
  readonly tables: ReadonlyMap<string, Stored> | null;
  /** The target's table; undefined: it is missing. */
  readonly stored: Stored | undefined;
  /** The columns that it lacks. */
  readonly missing: readonly Column[];
}

/** What a creator does in a schema. */
export interface LockedWork {
  readonly schema: string;
  /** The statements to run. Called under the lock, so that it sees what others created meanwhile. */
  readonly statements: () => Promise<readonly string[]>;
}

/** Where batches write: the table itself, or in mode replace the one where its next generation gathers. */
export const writtenTable = ({ mode, table }: TargetTable): string => (mode === 'replace' ? nextTable(table) : table);

/**
 * Several creators at once, and tables that follow from others: the loser finds the winner's work, and what is missing then
 * shows, at the next attempt.
 */
const attemptsMax = 6;

/**
 * Creates what is missing of schema, table, columns and checkpoint table. Throws `destination_rejected`, before
 * anything is changed, when the table is not the service's.
 */
export async function prepareTable<Stored extends StoredTable>(
  kind: TableKind<Stored>,
  target: TargetTable,
): Promise<PreparedTable<Stored>> {
  const schema = ownSchema(target.schema ?? kind.defaultSchema);
  const place = { schema, target };
  checkNames(place);
  for (let attempt = 1; ; attempt += 1) {
    const { stored, statements } = await findMissing(kind, place);
    if (stored && statements.length === 0) return { schema, mode: target.mode, stored, written: writtenTable(target) };
    if (attempt > attemptsMax) throw new AppError('destination_unavailable', 'The tables keep changing; try again.');
    await runLocked(kind, { schema, statements: async () => (await findMissing(kind, place)).statements });
  }
}

/** Whether the table is there; nothing is changed. Throws `destination_rejected` as {@link prepareTable} does. */
export async function checkTable<Stored extends StoredTable>(
  kind: TableKind<Stored>,
  target: TargetTable,
): Promise<boolean> {
  const place = { schema: ownSchema(target.schema ?? kind.defaultSchema), target };
  checkNames(place);
  const { stored } = await findTables(kind, place);
  if (stored) missingColumns(stored, target);
  return stored !== undefined;
}

/**
 * Adds a column for each new field; returns the table as it then is. Throws `destination_unavailable` when the columns are
 * not there afterwards.
 */
export async function addColumns<Stored extends StoredTable>(
  kind: TableKind<Stored>,
  prepared: PreparedTable<Stored>,
  columns: readonly Column[],
): Promise<PreparedTable<Stored>> {
  const { schema, stored } = prepared;
  await runLocked(kind, { schema, statements: () => kind.growSql(prepared, columns) });
  const found = (await kind.readTables(schema, [stored.name]))?.get(stored.name);
  const names = new Set(found?.columns.map(({ name }) => name));
  if (found && columns.every(({ name }) => names.has(name))) return { ...prepared, stored: found };
  throw new AppError('destination_unavailable', 'The new columns were removed again at once; try again.');
}

/** Whether a next generation has the columns of its table with their types; those that the database computes do not count. */
export function hasColumnsOf<Stored extends CheckedTable['columns'][number]>(
  next: { readonly columns: readonly Stored[] },
  { columns }: { readonly columns: readonly Stored[] },
  hasTypeOf: (one: Stored, other: Stored) => boolean,
): boolean {
  const found = new Map(next.columns.map((column) => [column.name, column]));
  return columns.every((column) => {
    const own = found.get(column.name);
    return column.generated || (own !== undefined && hasTypeOf(own, column));
  });
}

function ownSchema(schema: string | null): string {
  if (schema !== null) return schema;
  throw new AppError('destination_rejected', 'The destination names no schema and its role has none; name one.');
}

/** Throws `destination_rejected` when a name of the schema, the table or a column cannot be one. */
function checkNames({ schema, target }: Place): void {
  checkName('schema', schema);
  checkName('table', target.table);
  checkColumnNames(target.columns.map(({ name }) => name));
}

/** The table, if it is there, and the statements that create what is missing. */
async function findMissing<Stored extends StoredTable>(kind: TableKind<Stored>, place: Place) {
  const { tables, stored } = await findTables(kind, place);
  const missing = stored ? missingColumns(stored, place.target) : [];
  return { stored, statements: await kind.createSql(place, { tables, stored, missing }) };
}

/** The tables of a place that are there, each of them as it should be. */
async function findTables<Stored extends StoredTable>(kind: TableKind<Stored>, { schema, target }: Place) {
  const names = new Set([target.table, writtenTable(target), checkpointTable, ...kind.ownTables]);
  const tables = await kind.readTables(schema, [...names]);
  const stored = tables?.get(target.table);
  const checkpoint = tables?.get(checkpointTable);
  if (checkpoint) checkCheckpointTable(checkpoint, schema, kind.checkpointColumns);
  if (stored) {
    kind.checkOurs(stored, { schema, mode: target.mode });
    kind.checkTypes(stored, { schema, columns: target.columns });
  }
  return { tables, stored };
}

/** A creator that knows nothing of the lock shows up as a duplicate object. */
async function runLocked<Stored extends StoredTable>(kind: TableKind<Stored>, work: LockedWork): Promise<void> {
  try {
    await kind.runLocked(work);
  } catch (error) {
    if (!kind.isDuplicateObject(error)) throw error;
  }
}
