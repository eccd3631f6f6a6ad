import { AppError } from '../../errors.ts';
import type { Column, LaneClaim, TargetTable } from '../destination.ts';
import { checkColumnNames, checkName, checkpointTable, ownersTable } from './identifiers.ts';
import type { PreparedTable } from './record-fields.ts';
import { type CheckedTable, checkCheckpointTable, missingColumns } from './table-check.ts';
import { type LockedWork, type Place, type StoredTable, type TableKind, writtenTable } from './table-kind.ts';
import { checkOwner, ownerOf, schemaOf } from './table-owner.ts';

/** Several creators may run at once: the loser finds the winner's work and sees at its next attempt what is still missing. */
const attemptsMax = 6;

/**
 * Creates the missing parts of schema, table, columns and checkpoint table. Throws `destination_rejected`, before any change,
 * when the table is not the service's.
 */
export async function prepareTable<Stored extends StoredTable>(
  kind: TableKind<Stored>,
  { target, lane }: Pick<LaneClaim, 'target' | 'lane'>,
): Promise<PreparedTable<Stored>> {
  const schema = await schemaOf(kind, target, lane);
  const place = { schema, target };
  checkNames(place);
  for (let attempt = 1; ; attempt += 1) {
    const { stored, statements } = await findMissing(kind, place);
    if (stored && statements.length === 0) return { schema, mode: target.mode, stored, written: writtenTable(target) };
    if (attempt > attemptsMax) throw new AppError('destination_unavailable', 'The tables keep changing; try again.');
    await runLocked(kind, { schema, statements: async () => (await findMissing(kind, place)).statements });
  }
}

export async function checkTable<Stored extends StoredTable>(
  kind: TableKind<Stored>,
  target: TargetTable,
): Promise<boolean> {
  const place = { schema: await schemaOf(kind, target, null), target };
  checkNames(place);
  const { stored } = await findTables(kind, place);
  if (stored) missingColumns(stored, target);
  return stored !== undefined;
}

/** Returns the table as it then is. Throws `destination_unavailable` when the columns are missing afterwards. */
export async function addColumns<Stored extends StoredTable>(
  kind: TableKind<Stored>,
  prepared: PreparedTable<Stored>,
  columns: readonly Column[],
): Promise<PreparedTable<Stored>> {
  const { schema, stored } = prepared;
  const statements = async () => {
    checkOwner(kind, { schema, table: stored.name }, await kind.readOwner(schema, stored.name));
    return kind.growSql(prepared, columns);
  };
  await runLocked(kind, { schema, statements });
  const found = (await kind.readTables(schema, [stored.name]))?.get(stored.name);
  const names = new Set(found?.columns.map(({ name }) => name));
  if (found && columns.every(({ name }) => names.has(name))) return { ...prepared, stored: found };
  throw new AppError('destination_unavailable', 'The new columns were removed again at once; try again.');
}

/** Columns of a table that its next generation lacks, except computed ones; `null` if a column has another type there. */
export function lackingColumns<Stored extends CheckedTable['columns'][number]>(
  next: { readonly columns: readonly Stored[] },
  { columns }: { readonly columns: readonly Stored[] },
  hasTypeOf: (one: Stored, other: Stored) => boolean,
): readonly Stored[] | null {
  const found = new Map(next.columns.map((column) => [column.name, column]));
  const own = columns.filter(({ generated }) => !generated);
  const isOther = (column: Stored) => {
    const copy = found.get(column.name);
    return copy !== undefined && !hasTypeOf(copy, column);
  };
  return own.some(isOther) ? null : own.filter(({ name }) => !found.has(name));
}

function checkNames({ schema, target }: Place): void {
  checkName('schema', schema);
  checkName('table', target.table);
  checkColumnNames(target.columns.map(({ name }) => name));
}

async function findMissing<Stored extends StoredTable>(kind: TableKind<Stored>, place: Place) {
  const { tables, stored, owner } = await findTables(kind, place);
  const missing = stored ? missingColumns(stored, place.target) : [];
  const found = { tables, stored, owner, missing };
  // The key of the owner row decides between two orgs. It is read again before anything else is changed.
  const isTaken = stored && owner === null;
  return { stored, statements: await (isTaken ? kind.takeSql(place, found) : kind.createSql(place, found)) };
}

async function findTables<Stored extends StoredTable>(kind: TableKind<Stored>, { schema, target }: Place) {
  const names = new Set([target.table, writtenTable(target), checkpointTable, ownersTable, ...kind.ownTables]);
  const tables = await kind.readTables(schema, [...names]);
  const stored = tables?.get(target.table);
  const checkpoint = tables?.get(checkpointTable);
  if (checkpoint) checkCheckpointTable(checkpoint, schema, kind.checkpointColumns);
  const owner = await ownerOf(kind, { schema, tables }, stored);
  if (stored) {
    checkOwner(kind, { schema, table: stored.name }, owner);
    kind.checkOurs(stored, { schema, mode: target.mode });
    kind.checkTypes(stored, { schema, columns: target.columns });
  }
  return { tables, stored, owner };
}

/** A creator that does not know the lock shows up as a duplicate object. */
async function runLocked<Stored extends StoredTable>(kind: TableKind<Stored>, work: LockedWork): Promise<void> {
  try {
    await kind.runLocked(work);
  } catch (error) {
    if (!kind.isDuplicateObject(error)) throw error;
  }
}
