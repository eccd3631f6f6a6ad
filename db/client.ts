import { CamelCasePlugin, type Dialect, Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import { createOrgSlots } from '../src/core/work/org-slots.ts';
import { inOrgTurns } from './org-turns.ts';
import { preparing } from './prepared-statements.ts';
import type { Database } from './schema.ts';

/** The control database, or a transaction in it. */
export type Db = Kysely<Database> | Transaction<Database>;

interface ClientOptions {
  /** Connections at most. */
  readonly poolSize: number;
  /** The time for one statement in milliseconds; 60,000 unless given, null for none. */
  readonly statementMsMax?: number | null;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** A pooled connection that breaks while idle: the pool replaces it; this is for the log. */
  readonly onIdleError: (error: Error) => void;
  /** Takes, once, what counts the connections of the pool. */
  readonly onPool?: (counts: () => PoolCounts) => void;
}

/** The connections of a pool. */
export interface PoolCounts {
  /** Connections at most. */
  readonly size: number;
  /** Open ones. */
  readonly open: number;
  /** Open ones that nobody uses. */
  readonly idle: number;
  /** Queries and transactions that wait for one. */
  readonly waiting: number;
}

/** The milliseconds for which an idle connection stays open: schedules that fire each minute find it, its statements prepared. */
const idleMs = 120_000;

/** Opens a pool. Timestamps arrive as ISO strings, bigint as number (ids and counters stay below 2^53). */
export const openDatabase = (url: string, options: ClientOptions): Kysely<Database> =>
  databaseOn(openDialect(url, options));

/** The client that speaks through a dialect. */
export const databaseOn = (dialect: Dialect): Kysely<Database> =>
  new Kysely<Database>({
    dialect,
    // Without maintainNestedObjectKeys the plugin renames keys inside customers' JSON.
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  });

/** The dialect on a pool of its own; {@link openDatabase} unless something has to come between the two. */
export function openDialect(url: string, options: ClientOptions): Dialect {
  const { statementMsMax = 60_000 } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize,
    idleTimeoutMillis: idleMs,
    application_name: options.applicationName,
    // A connection that died without a word is noticed, a frozen process does not hold its locks for ever.
    keepAlive: true,
    idle_in_transaction_session_timeout: 10_000,
    ...(statementMsMax === null ? {} : { statement_timeout: statementMsMax, query_timeout: statementMsMax + 5000 }),
    types: { getTypeParser },
  });
  const slots = createOrgSlots(options.poolSize);
  pool.on('error', options.onIdleError);
  // One that breaks between two statements of a transaction fails the next one; without a listener it would end the process.
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
