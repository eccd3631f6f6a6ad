import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { appliedMigrations, migrateToLatest, pendingMigrations } from '../../db/migrate.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { insertTestConnection } from '../support/service/rows.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

describe('migrations', () => {
  it('are applied once when several processes start at the same time', async () => {
    await using empty = await createEmptyDatabase();
    const results = await Promise.all([1, 2, 3].map(() => migrateToLatest(empty.url)));
    const counts = results.map(({ applied }) => applied.length);
    expect(counts.filter((count) => count > 0)).toHaveLength(1);
    const all = await pendingMigrations([]);
    expect(results.flatMap(({ applied }) => applied)).toEqual(all);
    expect((await migrateToLatest(empty.url)).applied).toEqual([]);
  });

  it('are not applied to a database of another version, which stays as it is, and the error says what to do', async () => {
    await using empty = await createEmptyDatabase();
    await migrateToLatest(empty.url);
    await using db = open(empty.url);
    await sql`update kysely_migration set name = '0004_runs' where name = '0008_runs'`.execute(db);
    const before = await appliedMigrations(db);
    await expect(migrateToLatest(empty.url)).rejects.toThrow(
      /does not have its migration 0004_runs\. Use an empty database/,
    );
    expect(await appliedMigrations(db)).toEqual(before);
  });
});

const open = (url: string) => openDatabase(url, { poolSize: 1, applicationName: 'test', onIdleError() {} });

/** Dropped when disposed. */
async function createEmptyDatabase(): Promise<{ readonly url: string } & AsyncDisposable> {
  const name = `migrate_${randomBytes(6).toString('hex')}`;
  const server = open(testDatabaseUrl().href);
  await sql`create database ${sql.id(name)}`.execute(server);
  const url = new URL(testDatabaseUrl());
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await sql`drop database ${sql.id(name)} with (force)`.execute(server);
      await server.destroy();
    },
  };
}

describe('the tables', () => {
  it('carry the org, all but those that belong to none', async () => {
    const tables = await database.db.introspection.getTables();
    const without = tables.filter(({ columns }) => !columns.some(({ name }) => name === 'org_id'));
    const names = without.map(({ name }) => name).filter((name) => !name.startsWith('kysely'));
    // What is known of records has that of their lane.
    const ofLanes = ['listed_deletions', 'record_partitions', 'record_state'];
    expect(names.toSorted()).toEqual([...ofLanes, 'orgs', 'secret_canary'].toSorted());
  });

  it('cannot hold a row that crosses orgs', async () => {
    const [mine, theirs] = [await insertTestConnection(database.db), await insertTestConnection(database.db)];
    const lane = { orgId: mine.orgId, connectionId: theirs.connectionId, resourceKey: 'a' };
    await expect(database.db.insertInto('lanes').values(lane).execute()).rejects.toThrow(/foreign key/);
    const secret = { ...lane, kind: 'params-secret', kekId: 'k', wrappedKey: Buffer.alloc(1), nonce: Buffer.alloc(1) };
    const { resourceKey: _resourceKey, ...row } = { ...secret, ciphertext: Buffer.alloc(1) };
    await expect(database.db.insertInto('connectionSecrets').values(row).execute()).rejects.toThrow(/foreign key/);
  });

  it('let one run of a lane run, whatever the code does', async () => {
    const { orgId, connectionId } = await insertTestConnection(database.db);
    const { id: laneId } = await database.db
      .insertInto('lanes')
      .values({ orgId, connectionId, resourceKey: 'a' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const running = (id: string) =>
      database.db
        .insertInto('runs')
        .values({
          id,
          orgId,
          connectionId,
          laneId,
          resourceKey: 'a',
          trigger: 'manual',
          status: 'running',
          concurrentMax: 4,
        })
        .execute();
    await running('run_1');
    await expect(running('run_2')).rejects.toThrow(/runs_one_running_per_lane/);
  });
});
