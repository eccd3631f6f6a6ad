/** How a target table is made ready for a lane, and how it grows: the same for every kind of database. */
import { AppError } from '../../errors.ts';
import type { Column, TargetTable } from '../destination.ts';
import { checkColumnNames, checkName, nextTable } from './identifiers.ts';
import type { PreparedTable } from './record-fields.ts';

/** A target table and its schema. */
export interface Place {
  readonly schema: string;
  readonly target: TargetTable;
}

/** Where batches write: the table itself, or in mode replace the one where its next generation gathers. */
export const writtenTable = ({ mode, table }: TargetTable): string => (mode === 'replace' ? nextTable(table) : table);

/**
 * Several creators at once, and tables that follow from others: the loser finds the winner's work, and what is missing then
 * shows, at the next attempt.
 */
const attemptsMax = 6;

/** How a kind of database finds and creates what is missing. */
interface CreateMissing<Stored> {
  /** The table, if it is there, and the statements that create what is missing. */
  readonly findMissing: () => Promise<{
    readonly stored: Stored | undefined;
    readonly statements: readonly string[];
  }>;
  /** Runs the statements, which it reads under the lock of creators. */
  readonly runLocked: (statements: () => Promise<readonly string[]>) => Promise<void>;
}

/** Throws `destination_rejected` when a name of the schema, the table or a column cannot be one. */
export function checkNames({ schema, target }: Place): void {
  checkName('schema', schema);
  checkName('table', target.table);
  checkColumnNames(target.columns.map(({ name }) => name));
}

/**
 * Creates what is missing of schema, table, columns and checkpoint table. Throws `destination_rejected`, before
 * anything is changed, when the table is not the service's.
 */
export async function createMissing<Stored extends PreparedTable['stored']>(
  { schema, target }: Place,
  { findMissing, runLocked }: CreateMissing<Stored>,
): Promise<PreparedTable<Stored>> {
  for (let attempt = 1; ; attempt += 1) {
    const { stored, statements } = await findMissing();
    if (stored && statements.length === 0) return { schema, mode: target.mode, stored, written: writtenTable(target) };
    if (attempt > attemptsMax) throw new AppError('destination_unavailable', 'The tables keep changing; try again.');
    await runLocked(async () => (await findMissing()).statements);
  }
}

/** The table after columns were added, as it was `found` then. Throws `destination_unavailable` when they are not there. */
export function grownBy<Stored extends PreparedTable['stored']>(
  prepared: PreparedTable<Stored>,
  columns: readonly Column[],
  found: Stored | undefined,
): PreparedTable<Stored> {
  const names = new Set(found?.columns.map(({ name }) => name));
  if (found && columns.every(({ name }) => names.has(name))) return { ...prepared, stored: found };
  throw new AppError('destination_unavailable', 'The new columns were removed again at once; try again.');
}
