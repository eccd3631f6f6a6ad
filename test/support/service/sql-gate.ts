import pg from 'pg';
import { eventually } from './eventually.ts';

/** A place in a transaction of somebody else where it waits until the test lets it go on. */
export interface SqlGate extends AsyncDisposable {
  /** Resolves with the server process that waits at the gate. */
  reached(): Promise<number>;
  /** Lets through whoever waits, and all who come later. */
  open(): Promise<void>;
  /** Ends the server processes that wait: what a dead worker told them would be done although nobody waits for it. */
  abort(): Promise<void>;
}

/** Which write is held. */
export interface HeldWrite {
  /** Schema-qualified if need be. */
  readonly table: string;
  readonly on: 'insert' | 'update';
  /** SQL condition over `new`, and `old` of an update. */
  readonly when: string;
}

/** Holds the transactions that make such a write, after the statement has written its row and before the commit. */
export async function holdWrites(databaseUrl: string, { table, on, when }: HeldWrite): Promise<SqlGate> {
  const client = await connect(databaseUrl);
  const key = Math.floor(Math.random() * 2 ** 31);
  const trigger = `gate_${key}`;
  await client.query(`select pg_advisory_lock(${key})`);
  await client.query(`
    create function ${trigger}() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(${key}); return null; end $$;
    create trigger ${trigger} after ${on} on ${table} for each row when (${when}) execute function ${trigger}()`);
  const waiting = `select pid from pg_locks where locktype = 'advisory' and objid = ${key} and not granted`;
  return createGate(client, { waiting, open: `select pg_advisory_unlock_all()` });
}

/** Holds everybody whose lock on a row conflicts with that of `query`, which selects it for update; it is taken at once. */
export async function holdRows(databaseUrl: string, query: string): Promise<SqlGate> {
  const client = await connect(databaseUrl);
  await client.query('begin');
  await client.query(query);
  const waiting = 'select pid from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))';
  return createGate(client, { waiting, open: 'rollback' });
}

/** The server process that is blocked by `pid`, as soon as there is one. */
export async function blockedBy(databaseUrl: string, pid: number): Promise<number> {
  await using client = await connectDisposable(databaseUrl);
  return await eventually(`somebody waits for ${pid}`, async () => {
    const sql = 'select pid from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))';
    const { rows } = await client.query<{ pid: number }>(sql, [pid]);
    return rows[0]?.pid;
  });
}

/** Commits of somebody else that a test is notified of. */
export interface Announcement extends AsyncDisposable {
  /** Resolves at the first such commit. */
  readonly first: Promise<void>;
}

/** Announces the commit of an update for which `when` (over `new` and `old`) holds. */
export async function announceUpdates(
  databaseUrl: string,
  { table, when }: Pick<HeldWrite, 'table' | 'when'>,
): Promise<Announcement> {
  const client = await connect(databaseUrl);
  const name = `announce_${Math.floor(Math.random() * 2 ** 31)}`;
  const { promise: first, resolve } = Promise.withResolvers<void>();
  client.once('notification', () => resolve());
  await client.query(`listen ${name}`);
  await client.query(`
    create function ${name}() returns trigger language plpgsql as $$
      begin notify ${name}; return null; end $$;
    create trigger ${name} after update on ${table} for each row when (${when}) execute function ${name}()`);
  return { first, [Symbol.asyncDispose]: () => client.end() };
}

function createGate(client: pg.Client, sql: { readonly waiting: string; readonly open: string }): SqlGate {
  let closed = true;
  const open = async () => {
    if (closed) await client.query(sql.open);
    closed = false;
  };
  return {
    reached: () =>
      eventually(
        'somebody waits at the gate',
        async () => (await client.query<{ pid: number }>(sql.waiting)).rows[0]?.pid,
      ),
    open,
    async abort() {
      // One that waits behind another is seen once that one is gone.
      const ended = `select pg_terminate_backend(pid) from (${sql.waiting}) as waiting`;
      await eventually('nobody waits at the gate', async () => (await client.query(ended)).rowCount === 0);
      await open();
    },
    async [Symbol.asyncDispose]() {
      await open();
      await client.end();
    },
  };
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test' });
  // A test that failed may end its database first.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function connectDisposable(databaseUrl: string) {
  const client = await connect(databaseUrl);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
