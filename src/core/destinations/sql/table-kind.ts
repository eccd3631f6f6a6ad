/** What a kind of database implements so that its tables can be made ready for lanes. */
import type { Column, TargetTable } from '../destination.ts';
import { nextTable } from './identifiers.ts';
import type { PreparedTable } from './record-fields.ts';
import type { CheckedTable, Purpose, WantedColumns } from './table-check.ts';

/** A target table and its schema. */
export interface Place {
  readonly schema: string;
  readonly target: TargetTable;
}

/** How a kind of database finds and creates tables. */
export interface TableKind<Stored extends StoredTable> {
  /** The org whose tables are written. */
  readonly orgId: string;
  /** The schema of a target that names none; null: there is no such schema. */
  readonly defaultSchema: string | null;
  /** The columns that identify the checkpoint table. */
  readonly checkpointColumns: readonly string[];
  /** The tables of the service that a schema has beside the checkpoint table. */
  readonly ownTables: readonly string[];
  /** Reads the given tables of a schema. Null when the schema is missing; tables that are missing are left out. */
  readTables(schema: string, names: readonly string[]): Promise<ReadonlyMap<string, Stored> | null>;
  /** The org that a table is recorded for; null: none. Called where the table of owners exists. */
  readOwner(schema: string, table: string): Promise<string | null>;
  /** Whether the checkpoint row of a lane is about one of the tables. Called where the checkpoint table exists. */
  hasLane(lane: LanePlace): Promise<boolean>;
  /** Throws `destination_rejected` unless rows can be kept in the table as the mode says. */
  checkOurs(table: Stored, purpose: Purpose): void;
  /** Throws `destination_rejected` for a column whose type would change the values that the spec's type describes. */
  checkTypes(table: Stored, wanted: WantedColumns): void;
  /** The statements that record a table, which exists, for the org, unless it is recorded. */
  takeSql(place: Place, found: FoundTables<Stored>): readonly string[];
  /** The statements that create what is missing, each new table with its owner. Throws `destination_rejected` as {@link TableKind.checkOurs} does. */
  createSql(place: Place, found: FoundTables<Stored>): Promise<readonly string[]>;
  /** The statements that add columns for new fields. */
  growSql(prepared: PreparedTable<Stored>, columns: readonly Column[]): Promise<readonly string[]>;
  /** Creates under a lock: one creator per schema at a time. */
  runLocked(work: LockedWork): Promise<void>;
  /** Whether another session has created the same meanwhile. */
  isDuplicateObject(error: unknown): boolean;
}

/** A lane, and the tables that it may have written. */
export interface LanePlace {
  readonly schema: string;
  readonly lane: string;
  readonly tables: readonly string[];
}

/** A table as it is in the database. */
export type StoredTable = CheckedTable & PreparedTable['stored'];

/** What is there when a table is prepared. */
export interface FoundTables<Stored> {
  /** The service's tables and those of the target, by name; null: their schema is missing. */
  readonly tables: ReadonlyMap<string, Stored> | null;
  /** The target's table; undefined: it is missing. */
  readonly stored: Stored | undefined;
  /** The org that it is recorded for; null: it is missing, or was made before owners were recorded. */
  readonly owner: string | null;
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
