import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { openDatabase } from '../../../db/client.ts';
import type { Database } from '../../../db/schema.ts';
import { testDatabaseUrl } from './database-server.ts';

/**
 * Migrated and empty: the databases of tests are copies of it, made in some 50 ms. Its files are copied as they are: page by
 * page through the write-ahead log takes twice the CPU (measured).
 */
export const templateDatabase = 'connector_sync_template';

/** A database of its own, empty but migrated; disposing drops it. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  readonly db: Kysely<Database>;
}

/** Makes one beside the given database. */
export async function openTestDatabase(serverUrl = testDatabaseUrl().href): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const options = { applicationName: 'test', onIdleError() {} };
  const server = openDatabase(serverUrl, { ...options, poolSize: 1 });
  await sql`create database ${sql.id(name)} template ${sql.id(templateDatabase)} strategy file_copy`.execute(server);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const db = openDatabase(url.href, { ...options, poolSize: 5 });
  return {
    url: url.href,
    db,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await sql`drop database ${sql.id(name)} with (force)`.execute(server);
      await server.destroy();
    },
  };
}

/** Connects to one that is there; disposing leaves it. */
export async function openExistingDatabase(url: string): Promise<TestDatabase> {
  const db = openDatabase(url, { applicationName: 'test', poolSize: 5, onIdleError() {} });
  return { url, db, [Symbol.asyncDispose]: () => db.destroy() };
}
