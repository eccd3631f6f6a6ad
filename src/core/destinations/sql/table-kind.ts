import type { Column, TargetTable } from '../destination.ts';
import { nextTable } from './identifiers.ts';
import type { PreparedTable } from './record-fields.ts';
import type { CheckedTable, Purpose, WantedColumns } from './table-check.ts';

export interface Place {
  readonly schema: string;
  readonly target: TargetTable;
}

export interface TableKind<Stored extends StoredTable> {
  readonly orgId: string;
  /** Schema of a target that names none; `null` if it does not exist. */
  readonly defaultSchema: string | null;
  /** Columns that identify the checkpoint table. */
  readonly checkpointColumns: readonly string[];
  /** Beside the checkpoint table. */
  readonly ownTables: readonly string[];
  /** Leaves out missing tables; `null` if the schema is missing. */
  readTables(schema: string, names: readonly string[]): Promise<ReadonlyMap<string, Stored> | null>;
  /** `null` if no org is recorded. Called only where the table of owners exists. */
  readOwner(schema: string, table: string): Promise<string | null>;
  /** Whether the checkpoint row of a lane is about one of the tables. Called only where the checkpoint table exists. */
  hasLane(lane: LanePlace): Promise<boolean>;
  /** Throws `destination_rejected` unless the table can keep rows as the mode says. */
  checkOurs(table: Stored, purpose: Purpose): void;
  /** Throws `destination_rejected` for a column whose type would change the values that the spec's type describes. */
  checkTypes(table: Stored, wanted: WantedColumns): void;
  /** Statements that record an existing table for the org, unless it is recorded. */
  takeSql(place: Place, found: FoundTables<Stored>): readonly string[];
  /** Each new table with its owner. Throws `destination_rejected` as {@link TableKind.checkOurs} does. */
  createSql(place: Place, found: FoundTables<Stored>): Promise<readonly string[]>;
  growSql(prepared: PreparedTable<Stored>, columns: readonly Column[]): Promise<readonly string[]>;
  /** One creator per schema at a time. */
  runLocked(work: LockedWork): Promise<void>;
  isDuplicateObject(error: unknown): boolean;
}

export interface LanePlace {
  readonly schema: string;
  readonly lane: string;
  readonly tables: readonly string[];
}

export type StoredTable = CheckedTable & PreparedTable['stored'];

export interface FoundTables<Stored> {
  /** The service's tables and those of the target; `null` if their schema is missing. */
  readonly tables: ReadonlyMap<string, Stored> | null;
  readonly stored: Stored | undefined;
  /** `null` if the table is missing, or was made before owners were recorded. */
  readonly owner: string | null;
  readonly missing: readonly Column[];
}

export interface LockedWork {
  readonly schema: string;
  /** Called under the lock, so that it sees what others created meanwhile. */
  readonly statements: () => Promise<readonly string[]>;
}

/** Where batches write: the table itself, or in mode replace the one where its next generation gathers. */
export const writtenTable = ({ mode, table }: TargetTable): string => (mode === 'replace' ? nextTable(table) : table);
