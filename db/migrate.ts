import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Dialect, type Kysely, PostgresAdapter, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { type Db, databaseOn, openDialect } from './client.ts';
import type { Database } from './schema.ts';

const folder = join(import.meta.dirname, 'migrations');

/** The database has a migration that this version of the service does not have. Its message says what to do. */
export class UnknownMigrationError extends Error {
  override readonly name = 'UnknownMigrationError';

  constructor(name: string) {
    super(
      `Another version of the service made this database: this version does not have its migration ${name}. Use an empty database, or the version that made this one. Nothing converts a database from before 0.1.0.`,
    );
  }
}

/**
 * Applies what is missing from `db/migrations/*.sql`, in the order of the file names, under an advisory lock:
 * several processes may call it at once, one applies and the others find nothing to do.
 *
 * @returns the names applied by this call. Throws UnknownMigrationError.
 */
export async function migrateToLatest(databaseUrl: string): Promise<{ readonly applied: readonly string[] }> {
  const dialect = openDialect(databaseUrl, {
    poolSize: 1,
    statementMsMax: null,
    applicationName: 'connector-sync migrate',
    onIdleError() {},
  });
  const db = databaseOn(withoutSessionLock(dialect));
  try {
    await refuseUnknown(db);
    return { applied: await db.transaction().execute(applyMissing) };
  } finally {
    await db.destroy();
  }
}

/** Applies what is missing in the transaction, and returns the names. No other process does so before its end. */
async function applyMissing(db: Kysely<Database>): Promise<readonly string[]> {
  await sql`select pg_advisory_xact_lock(${sql.lit(lockKey)})`.execute(db);
  const migrator = new Migrator({ db, provider: { getMigrations: readMigrations } });
  const { error, results } = await migrator.migrateToLatest();
  const failed = results?.at(-1)?.migrationName;
  if (error) throw new Error(failed ? `Migration ${failed} failed` : 'No migration was applied', { cause: error });
  return (results ?? []).map((result) => result.migrationName);
}

/** Key of the advisory lock of migrations. */
const lockKey = 7_361_101;

/**
 * A dialect without Kysely's own lock: it is of the session, which a pooler gives to others between two transactions.
 */
function withoutSessionLock(dialect: Dialect): Dialect {
  return {
    createAdapter: () => new AdapterWithoutLock(),
    createDriver: () => dialect.createDriver(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
  };
}

class AdapterWithoutLock extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {
    // The transaction has it.
  }

  override async releaseMigrationLock(): Promise<void> {
    // The end of the transaction does it.
  }
}

async function refuseUnknown(db: Db): Promise<void> {
  const { rows: tables } = await sql`select where to_regclass('kysely_migration') is not null`.execute(db);
  if (tables.length === 0) return;
  const [unknown] = await unknownMigrations(await appliedMigrations(db));
  if (unknown !== undefined) throw new UnknownMigrationError(unknown);
}

/** The migrations of a database in their order. Throws 42P01 when none was ever applied. */
export async function appliedMigrations(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

/** The migrations that the code expects and the database lacks; readiness names them. */
export async function pendingMigrations(applied: readonly string[]): Promise<readonly string[]> {
  return Object.keys(await readMigrations()).filter((name) => !applied.includes(name));
}

/** The migrations of a database that this version does not have. */
export async function unknownMigrations(applied: readonly string[]): Promise<readonly string[]> {
  const known = Object.keys(await readMigrations());
  return applied.filter((name) => !known.includes(name));
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).toSorted();
  const entries = files.map(async (file): Promise<[string, Migration]> => {
    const text = await readFile(join(folder, file), 'utf8');
    return [file.replace(/\.sql$/, ''), { up: async (db) => void (await sql.raw(text).execute(db)) }];
  });
  return Object.fromEntries(await Promise.all(entries));
}
