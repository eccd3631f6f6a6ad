import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { appliedMigrations, migrateToLatest } from '../../db/migrate.ts';
import { findPartitions } from '../../db/queries/maintenance/partitions.ts';
import { openTestDatabase } from '../support/service/database.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/records.ts';
import { startUpstream, type Upstream } from '../support/upstream/upstream.ts';
import { type PgBouncer, startPgBouncer } from './pgbouncer.ts';

/** Of the server, for an API and two workers with ten each of the pooler. */
const poolSize = 4;

const opened = new AsyncDisposableStack();
let pooler: PgBouncer;
let upstream: Upstream;
let stack: Stack;

beforeAll(async () => {
  pooler = opened.use(await startPgBouncer(poolSize));
  upstream = opened.use(
    await startUpstream({
      collections: { people: generateRecords(5000), places: generateRecords(5000), things: generateRecords(5000) },
    }),
  );
  stack = opened.use(
    await startStack({ allow: [upstream.hostPort], workers: 2, pooled: (databaseUrl) => pooler.through(databaseUrl) }),
  );
});
afterAll(() => opened.disposeAsync());

describe('the service behind PgBouncer in transaction mode', () => {
  it('syncs several resources at once, again and again, with fewer connections than processes want', async () => {
    const syncs = await Promise.all(
      ['people', 'places', 'things'].map((collection) => createSync(stack, { upstream, collection })),
    );
    for (const expected of [{ recordsOut: 5000 }, { recordsOut: 0 }]) {
      const runs = await Promise.all(syncs.map(async (sync) => sync.ended(await sync.request(), 90_000)));
      for (const run of runs) expect(run).toMatchObject({ status: 'succeeded', statsJson: expected });
    }
    for (const sync of syncs) await sync[Symbol.asyncDispose]();
  });

  it('does its background work, and keeps no lock of a session', async () => {
    await eventually('partitions are made', async () => (await findPartitions(stack.db, 'hook_triggers')).length > 0);
    // Whoever leads a round holds the lock for its transaction.
    await eventually('nobody holds the lock of the leader', async () => {
      const { rows } = await sql`select from pg_locks where locktype = 'advisory' and granted`.execute(stack.db);
      return rows.length === 0;
    });
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from pg_stat_activity
      where datname = current_database() and application_name <> 'test'`.execute(stack.db);
    expect(rows[0]?.n).toBeLessThanOrEqual(poolSize);
  });

  it('has its limits of time, which the pooler sets on each connection, and no statement that another one knows', async () => {
    const db = openDatabase(pooler.through(stack.databaseUrl), {
      poolSize: 3,
      applicationName: 'test',
      onIdleError() {},
    });
    const show = async (name: string) => {
      const { rows } = await sql<Record<string, string>>`show ${sql.ref(name)}`.execute(db);
      return rows.flatMap((row) => Object.values(row));
    };
    expect(await show('statement_timeout')).toEqual(['1min']);
    expect(await show('idle_in_transaction_session_timeout')).toEqual(['10s']);
    const sums = Array.from({ length: 200 }, async (_, n) => sql<{ n: number }>`select ${n}::int + 1 as n`.execute(db));
    expect((await Promise.all(sums)).map(({ rows }) => rows[0]?.n)).toEqual(sums.map((_, n) => n + 1));
    await db.destroy();
    expect(stack.tails()).not.toMatch(/prepared statement|unsupported startup parameter/);
  });

  it('is migrated through it, however many processes do it at once', async () => {
    await using database = await openTestDatabase();
    await sql`drop schema public cascade`.execute(database.db);
    await sql`create schema public`.execute(database.db);
    const url = pooler.through(database.url);
    const results = await Promise.all([1, 2, 3].map(() => migrateToLatest(url)));
    expect(results.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
    expect(await appliedMigrations(database.db)).toEqual(results.flatMap(({ applied }) => applied));
  });
});
