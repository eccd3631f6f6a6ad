/**
 * Connections to a customer's SQL Server as the parent process sees them. The driver runs in a child process: the server's bytes
 * are parsed there, and can cost at most that process. Messages between the two are in messages.ts.
 */

import type { SqlSession } from '../../sql/live-session.ts';

/** Text, a whole number of 32 bits, or `null` for a missing text. */
export type Value = string | number | null;

/** Names without `@`. */
export type Values = Readonly<Record<string, Value>>;

/** A column of a bulk load: at most so many characters (Infinity: unbounded), whole numbers, or double precision. */
export interface LoadedColumn {
  readonly name: string;
  readonly type: { readonly characters: number } | 'int' | 'float';
}

export interface Load {
  readonly table: string;
  readonly columns: readonly LoadedColumn[];
  readonly rows: readonly (readonly Value[])[];
}

/** Milliseconds. */
export interface SessionLimits {
  readonly connectMs: number;
  readonly statementMs: number;
  /** Time to wait for another session's lock before the statement is canceled and retried. */
  readonly lockMs: number;
}

/** Statements throw raw errors of the driver, or an AppError. */
export interface Session extends SqlSession {
  /**
   * Returns the rows of all statements, their columns in camelCase. With values they are a scope of their own (sp_executesql),
   * and temporary tables made there end with it.
   */
  query<Row = never>(sql: string, values?: Values): Promise<readonly Row[]>;
  /** For statements whose time grows with the table: they may take half an hour. */
  queryAll<Row = never>(sql: string, values: Values): Promise<readonly Row[]>;
  /** Bulk copy, many times as fast as inserts. */
  load(load: Load): Promise<void>;
}
