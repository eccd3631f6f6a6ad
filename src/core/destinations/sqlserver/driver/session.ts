/**
 * The connection to a customer's SQL Server as the parent process sees it. The driver itself runs in a child process:
 * what a server sends is parsed there, and costs that process at most. Messages between the two are in messages.ts.
 */

import type { SqlSession } from '../../sql/live-session.ts';

/** A parameter of a statement: text, a whole number of 32 bits, or null for a text that is not there. */
export type Value = string | number | null;

/** Parameters of a statement by their names, without `@`. */
export type Values = Readonly<Record<string, Value>>;

/** A column of a bulk load: characters at most (Infinity: no bound), whole numbers, or double precision. */
export interface LoadedColumn {
  readonly name: string;
  readonly type: { readonly characters: number } | 'int' | 'float';
}

/** Rows on their way into a table of the session. */
export interface Load {
  readonly table: string;
  readonly columns: readonly LoadedColumn[];
  readonly rows: readonly (readonly Value[])[];
}

/** Milliseconds a server may take. */
export interface SessionLimits {
  readonly connectMs: number;
  readonly statementMs: number;
  /** The time for a lock that another session holds, before the statement is canceled and retried. */
  readonly lockMs: number;
}

/** One connection to a customer's server. Statements throw raw errors of the driver, or an AppError. */
export interface Session extends SqlSession {
  /**
   * Executes one or more statements; returns the rows of all of them, their columns in camelCase. With values they are
   * a scope of their own (sp_executesql), so a temporary table that they make ends with them.
   */
  query<Row = never>(sql: string, values?: Values): Promise<readonly Row[]>;
  /** Executes statements as `query` does, for those whose time grows with the table: they may take half an hour. */
  queryAll<Row = never>(sql: string, values: Values): Promise<readonly Row[]>;
  /** Bulk copy, many times as fast as inserts. */
  load(load: Load): Promise<void>;
}
