import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { openDatabase } from '../../db/client.ts';
import { migrateToLatest } from '../../db/migrate.ts';
import type { Database } from '../../db/schema.ts';

/** A database of its own, empty but migrated; disposing drops it. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  readonly db: Kysely<Database>;
}

/** Makes one beside the given database. */
export async function openTestDatabase(serverUrl = process.env['TEST_DATABASE_URL'] ?? ''): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const options = { applicationName: 'test', onIdleError() {} };
  const server = openDatabase(serverUrl, { ...options, poolSize: 1 });
  await sql`create database ${sql.id(name)}`.execute(server);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrateToLatest(url.href);
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
