import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { insertRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import { createPostgresPlace, type PostgresPlace } from '../support/destinations/postgres-kind.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { newRun, receiptOf, takeOptions } from '../support/service/receipts.ts';
import { startRenamingProxy } from '../support/service/renaming-proxy.ts';
import { insertTestConnection } from '../support/service/rows.ts';
import { batchOf, claimOf, columnOf, rowOf } from '../support/sync/batches.ts';

/** What a role, a database or a pooler may leave a session with, and what a commit then has. */
const settings = [
  ['off', 'on'],
  ['local', 'local'],
  ['remote_apply', 'remote_apply'],
] as const;

describe('a batch at a PostgreSQL', () => {
  it.each(settings)('commits durably in a session with synchronous_commit = %s: %s', async (set, commits) => {
    await using place = await createPostgresPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('n', 'integer')] }));
    await watchCommits(place, set);
    await destination.apply(batchOf([rowOf('1', { n: 1 })]));
    expect(await commitsAt(place)).toEqual([commits]);
    // The server refuses a row, so the batch is written in several statements.
    await place.query(`alter table "${place.schema}".items add check (n > 0)`);
    await destination.apply(batchOf([rowOf('2', { n: 2 }), rowOf('3', { n: -3 })], { batchNo: 2 }));
    expect(await commitsAt(place)).toEqual([commits, commits]);
  });
});

/** Leaves each session with a setting as it writes to the checkpoint, and keeps what commits of rows have. */
async function watchCommits({ schema, query }: PostgresPlace, setting: string): Promise<void> {
  await query(`
    create table "${schema}".commits (setting text);
    create function "${schema}".leave() returns trigger language plpgsql as $$
      begin perform set_config('synchronous_commit', '${setting}', false); return new; end $$;
    create trigger leave before update on "${schema}"._css_checkpoint for each row execute function "${schema}".leave();
    create function "${schema}".keep() returns trigger language plpgsql as $$
      begin insert into "${schema}".commits values (current_setting('synchronous_commit')); return null; end $$;
    create constraint trigger keep after insert on "${schema}".items deferrable initially deferred
      for each row execute function "${schema}".keep()`);
}

const commitsAt = async ({ schema, query }: PostgresPlace) =>
  (await query(`select setting from "${schema}".commits`)).map(({ setting }) => setting);

describe('the control database', () => {
  it.each(settings)('commits durably where its own setting is %s: %s', async (set, commits) => {
    await using database = await openTestDatabase();
    await setDatabase(database, set);
    const db = openDatabase(database.url, { poolSize: 1, applicationName: 'test', onIdleError() {} });
    const { rows } = await sql`show synchronous_commit`.execute(db);
    expect(rows).toEqual([{ synchronousCommit: commits }]);
    await db.destroy();
  });

  it('commits transactions and batches durably behind a pooler, whatever session it gives them', async () => {
    await using database = await openTestDatabase();
    const url = new URL(database.url);
    await using pooler = await startRenamingProxy(Number(url.port));
    url.port = String(pooler.port);
    const db = openDatabase(url.href, { poolSize: 1, applicationName: 'test', onIdleError() {} });
    const other = () => sql`set synchronous_commit = off`.execute(db);
    await other();
    const inside = await db.transaction().execute((tx) => sql`show synchronous_commit`.execute(tx));
    expect(inside.rows).toEqual([{ synchronousCommit: 'on' }]);

    const { orgId, connectionId } = await insertTestConnection(db);
    const scope = orgScope(orgId);
    const { id } = await insertRun(db, scope, newRun(connectionId));
    await beginRun(db, scope, id);
    const owner = await takeLane(db, scope, id, takeOptions());
    if (!owner) throw new Error('The run does not run');
    await sql`
      create table commits (setting text);
      create function keep() returns trigger language plpgsql as $$
        begin insert into commits values (current_setting('synchronous_commit')); return null; end $$;
      create constraint trigger keep after update on runs deferrable initially deferred
        for each row execute function keep()`.execute(db);
    await other();
    await recordBatch(db, scope, { owner, receipt: receiptOf(id, 1) });
    expect((await sql`select setting from commits`.execute(db)).rows).toEqual([{ setting: 'on' }]);
    await db.destroy();
  });
});

const setDatabase = ({ db, url }: TestDatabase, setting: string) =>
  sql`alter database ${sql.ref(new URL(url).pathname.slice(1))} set synchronous_commit = ${sql.lit(setting)}`.execute(
    db,
  );
