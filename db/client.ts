import { CamelCasePlugin, Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import type { Database } from './schema.ts';

/** The control database, or a transaction in it. */
export type Db = Kysely<Database> | Transaction<Database>;

interface ClientOptions {
  /** Connections at most. */
  readonly poolSize: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** A pooled connection that breaks while idle: the pool replaces it; this is for the log. */
  readonly onIdleError: (error: Error) => void;
}

/** Opens a pool. Timestamps arrive as ISO strings, bigint as number (ids and counters stay below 2^53). */
export function openDatabase(url: string, options: ClientOptions): Kysely<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize,
    application_name: options.applicationName,
    types: { getTypeParser },
  });
  pool.on('error', options.onIdleError);
  return new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    // Without maintainNestedObjectKeys the plugin renames keys inside customers' JSON.
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  });
}

const { INT8, TIMESTAMPTZ } = pg.types.builtins;

const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (oid === INT8) return Number;
  if (oid === TIMESTAMPTZ) return (text: string) => new Date(text).toISOString();
  return format === 'binary' ? pg.types.getTypeParser(oid, 'binary') : pg.types.getTypeParser(oid, 'text');
};
