import { CamelCasePlugin, type Dialect, Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import { createOrgSlots } from '../src/core/work/org-slots.ts';
import { inOrgTurns } from './org-turns.ts';
import { preparing } from './prepared-statements.ts';
import type { Database } from './schema.ts';

/** The control database, or a transaction in it. */
export type Db = Kysely<Database> | Transaction<Database>;

interface ClientOptions {
  readonly poolSize: number;
  /** Deadline for a statement in milliseconds: 60,000 by default, `null` for none. */
  readonly statementMsMax?: number | null;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Receives the error of an idle connection that broke; the pool replaces the connection. */
  readonly onIdleError: (error: Error) => void;
  readonly onPool?: (counts: () => PoolCounts) => void;
}

export interface PoolCounts {
  readonly size: number;
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Milliseconds that an idle connection stays open: schedules that fire each minute find it, with its statements prepared. */
const idleMs = 120_000;

/** Timestamps are read as ISO strings, bigint as number: ids and counters stay below 2^53. */
export const openDatabase = (url: string, options: ClientOptions): Kysely<Database> =>
  databaseOn(openDialect(url, options));

export const databaseOn = (dialect: Dialect): Kysely<Database> =>
  new Kysely<Database>({
    dialect,
    // Without maintainNestedObjectKeys the plugin renames keys inside customers' JSON.
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  });

/** A dialect on a pool of its own, for callers that wrap it; others use {@link openDatabase}. */
export function openDialect(url: string, options: ClientOptions): Dialect {
  const { statementMsMax = 60_000 } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize,
    idleTimeoutMillis: idleMs,
    application_name: options.applicationName,
    // Keep-alive detects a connection that died silently; the timeout ends the locks of a frozen process.
    keepAlive: true,
    idle_in_transaction_session_timeout: 10_000,
    ...(statementMsMax === null ? {} : { statement_timeout: statementMsMax, query_timeout: statementMsMax + 5000 }),
    types: { getTypeParser },
  });
  const slots = createOrgSlots(options.poolSize);
  pool.on('error', options.onIdleError);
  // Without a listener, an error between two statements of a transaction would end the process. The next statement fails anyway.
  pool.on('connect', (client) => client.on('error', nextStatementFails));
  options.onPool?.(() => ({
    size: options.poolSize,
    open: pool.totalCount,
    idle: pool.idleCount,
    waiting: pool.waitingCount + slots.waiting(),
  }));
  return new PostgresDialect({ pool: inOrgTurns(preparing(pool), slots) });
}

const nextStatementFails = (): void => undefined;

const { INT8, TIMESTAMPTZ } = pg.types.builtins;

const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (oid === INT8) return Number;
  if (oid === TIMESTAMPTZ) return (text: string) => new Date(text).toISOString();
  return format === 'binary' ? pg.types.getTypeParser(oid, 'binary') : pg.types.getTypeParser(oid, 'text');
};
