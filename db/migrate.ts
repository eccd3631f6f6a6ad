import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Dialect, type Kysely, PostgresAdapter, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { type Db, databaseOn, openDialect } from './client.ts';
import type { Database } from './schema.ts';

const folder = join(import.meta.dirname, 'migrations');

/** The message says what to do. */
export class UnknownMigrationError extends Error {
  override readonly name = 'UnknownMigrationError';

  constructor(name: string) {
    super(
      `Another version of the service made this database: this version does not have its migration ${name}. Use an empty database, or the version that made this one. Nothing converts a database from before 0.1.0.`,
    );
  }
}

/**
 * Applies the missing `db/migrations/*.sql` in the order of their names, under an advisory lock. Several processes may call it at
 * once: one applies, the others find nothing to do.
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

async function applyMissing(db: Kysely<Database>): Promise<readonly string[]> {
  await sql`select pg_advisory_xact_lock(${sql.lit(lockKey)})`.execute(db);
  const migrator = new Migrator({ db, provider: { getMigrations: readMigrations } });
  const { error, results } = await migrator.migrateToLatest();
  const failed = results?.at(-1)?.migrationName;
  if (error) throw new Error(failed ? `Migration ${failed} failed` : 'No migration was applied', { cause: error });
  return (results ?? []).map((result) => result.migrationName);
}

const lockKey = 7_361_101;

/** Without Kysely's own lock, which belongs to the session: a pooler shares that between transactions. */
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
    // The transaction holds it.
  }

  override async releaseMigrationLock(): Promise<void> {
    // The end of the transaction releases it.
  }
}

async function refuseUnknown(db: Db): Promise<void> {
  const { rows: tables } = await sql`select where to_regclass('kysely_migration') is not null`.execute(db);
  if (tables.length === 0) return;
  const [unknown] = await unknownMigrations(await appliedMigrations(db));
  if (unknown !== undefined) throw new UnknownMigrationError(unknown);
}

/** Throws 42P01 when no migration was ever applied. */
export async function appliedMigrations(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

/** Migrations that the code expects and the database lacks; readiness names them. */
export async function pendingMigrations(applied: readonly string[]): Promise<readonly string[]> {
  return Object.keys(await readMigrations()).filter((name) => !applied.includes(name));
}

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
