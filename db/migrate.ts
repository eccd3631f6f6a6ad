import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { openDatabase } from './client.ts';

const folder = join(import.meta.dirname, 'migrations');

/**
 * Applies what is missing from `db/migrations/*.sql`, in the order of the file names, under an advisory lock:
 * several processes may call it at once, one applies and the others find nothing to do.
 *
 * @returns the names applied by this call.
 */
export async function migrateToLatest(databaseUrl: string): Promise<{ readonly applied: readonly string[] }> {
  const db = openDatabase(databaseUrl, {
    poolSize: 1,
    statementMsMax: null,
    applicationName: 'connector-sync migrate',
    onIdleError() {},
  });
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: readMigrations } });
    const { error, results } = await migrator.migrateToLatest();
    const failed = results?.at(-1)?.migrationName;
    if (error) throw new Error(failed ? `Migration ${failed} failed` : 'No migration was applied', { cause: error });
    return { applied: (results ?? []).map((result) => result.migrationName) };
  } finally {
    await db.destroy();
  }
}

/** The migrations that the code expects and the database lacks; readiness names them. */
export async function pendingMigrations(applied: readonly string[]): Promise<readonly string[]> {
  return Object.keys(await readMigrations()).filter((name) => !applied.includes(name));
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).toSorted();
  const entries = files.map(async (file): Promise<[string, Migration]> => {
    const text = await readFile(join(folder, file), 'utf8');
    return [file.replace(/\.sql$/, ''), { up: async (db) => void (await sql.raw(text).execute(db)) }];
  });
  return Object.fromEntries(await Promise.all(entries));
}
