import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openPostgres, type PostgresDeps } from '../../src/core/destinations/postgres/postgres.ts';
import { connectAdmin, createPostgresPlace, guardFor, optionsFor } from '../support/destinations/postgres-kind.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { startTcpProxy } from '../support/service/tcp-proxy.ts';
import { batchOf, claimOf, columnOf, rowOf } from '../support/sync/batches.ts';
import { serveRaw } from '../support/upstream/guarded-client.ts';

const url = testDatabaseUrl();
const port = Number(url.port);
const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), 'utf8');
const tls = { cert: fixture('db.test.crt'), key: fixture('db.test.key') };

/** A destination at the test server with some options changed; `openPort` is what the guard lets through. */
const connect = (
  changes: Record<string, unknown>,
  { openPort = port, ...deps }: Partial<PostgresDeps> & { openPort?: number } = {},
) => openPostgres({ ...optionsFor(url, openPort), ...changes }, { guard: guardFor(openPort), orgId: 'org_1', ...deps });

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a server that does not let us in', () => {
  it('tells a wrong password from other refusals, and keeps it out of the message', async () => {
    await using place = await createPostgresPlace();
    await using destination = connect({ password: 'wrong-secret' });
    const error: unknown = await destination.open(claimOf(place.schema)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'destination_login', message: expect.not.stringContaining('wrong-secret') });
  });

  it('takes a missing password for a failed login and looks for none of ours', async () => {
    vi.stubEnv('PGPASSWORD', url.password);
    await using destination = connect({ password: '' });
    const error: unknown = await destination.open(claimOf('s')).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'destination_login' });
  });

  it('is rejected when the database does not exist, without a login failure', async () => {
    await using destination = connect({ database: 'no_such_database' });
    const error: unknown = await destination.open(claimOf('s')).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'destination_rejected' });
  });

  it('is unavailable when nothing listens', async () => {
    const proxy = await startTcpProxy(port);
    await proxy[Symbol.asyncDispose]();
    await using destination = connect({}, { openPort: proxy.port });
    await expect(destination.open(claimOf('s'))).rejects.toMatchObject({
      code: 'destination_unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('is unavailable when the server accepts and says nothing', async () => {
    await using silent = await serveRaw(() => {});
    await using destination = connect({}, { openPort: silent.port, limits: { connectMs: 100, statementMs: 1000 } });
    await expect(destination.open(claimOf('s'))).rejects.toMatchObject({ code: 'destination_unavailable' });
  });

  it('is unavailable when a statement takes too long, and writes nothing', async () => {
    await using place = await createPostgresPlace();
    await using destination = connect({}, { limits: { connectMs: 5000, statementMs: 200 } });
    await destination.open(claimOf(place.schema));
    await place.whileLocked('con_1/items', async () => {
      await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    });
    expect(await place.rows('items')).toEqual([]);
  });

  it('survives a connection that breaks while idle', async () => {
    await using place = await createPostgresPlace();
    await using destination = connect({});
    await destination.open(claimOf(place.schema));
    await place.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'connector-sync' and query like $1`,
      [`%${place.schema}%`],
    );
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    expect(await destination.open(claimOf(place.schema, { fence: 2 }))).toEqual({ fresh: true, checkpoint: null });
  });
});

describe('encryption', () => {
  it('connects only when the certificate is of the name, by an authority that the customer gave', async () => {
    await using place = await createPostgresPlace();
    await using proxy = await startTcpProxy(port, { tls });
    await using destination = connect({ host: 'db.test', ssl: 'verify-full', ca: tls.cert }, { openPort: proxy.port });
    expect(await destination.open(claimOf(place.schema))).toEqual({ fresh: true, checkpoint: null });
  });

  it.each([
    ['the authority is unknown', { host: 'db.test', ssl: 'verify-full' }],
    ['the certificate is of another name', { host: 'other.test', ssl: 'verify-full', ca: tls.cert }],
    ['the certificate is of a name and the customer gave an address', { ssl: 'verify-full', ca: tls.cert }],
  ])('is rejected when %s', async (_, changes) => {
    await using proxy = await startTcpProxy(port, { tls });
    await using destination = connect(changes, { openPort: proxy.port });
    await expect(destination.open(claimOf('s'))).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('certificate'),
    });
  });

  it('takes any certificate with ssl require', async () => {
    await using place = await createPostgresPlace();
    await using proxy = await startTcpProxy(port, { tls });
    await using destination = connect({ host: 'other.test', ssl: 'require' }, { openPort: proxy.port });
    expect(await destination.open(claimOf(place.schema))).toEqual({ fresh: true, checkpoint: null });
  });

  it('never falls back to plain text', async () => {
    await using destination = connect({ ssl: 'require' });
    await expect(destination.open(claimOf('s'))).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('no encryption'),
    });
  });

  it('sends nothing in plain text to an address that the operator has not listed', async () => {
    const guard = { vetHost: async () => [{ address: '127.0.0.1', family: 4 as const, allowListed: false }] };
    await using destination = connect({}, { guard });
    await expect(destination.open(claimOf('s'))).rejects.toMatchObject({ code: 'egress_blocked' });
  });
});

describe('the role', () => {
  it('needs to be told a schema only when its search path has none', async () => {
    await using role = await createRole();
    await using destination = connect({ user: role.name, password: 'p' });
    const claim = claimOf('');
    await role.execute(`alter role ${role.name} set search_path = ''`);
    await expect(destination.open({ ...claim, target: { ...claim.target, schema: null } })).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('schema'),
    });
  });

  it('gets an error that names the missing privilege', async () => {
    await using place = await createPostgresPlace();
    await using role = await createRole();
    await using destination = connect({ user: role.name, password: 'p' });
    await expect(destination.open(claimOf(place.schema))).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('privilege'),
    });
  });

  it('writes the same whatever time zone, date style or isolation it is set to', async () => {
    await using place = await createPostgresPlace();
    await using role = await createRole();
    await place.execute(`create schema "${place.schema}" authorization ${role.name}`);
    await role.execute(`alter role ${role.name} set timezone = 'America/New_York';
      alter role ${role.name} set datestyle = 'SQL, DMY';
      alter role ${role.name} set default_transaction_isolation = 'serializable'`);
    await using destination = connect({ user: role.name, password: 'p' });
    await destination.open(claimOf(place.schema, { columns: [columnOf('t', 'timestamptz'), columnOf('d', 'date')] }));
    await destination.apply(batchOf([rowOf('1', { t: '2026-01-02T03:04:05', d: '2026-01-02' })]));
    expect(await place.rows('items')).toMatchObject([{ t: '2026-01-02T03:04:05+00:00', d: '2026-01-02' }]);
  });
});

async function createRole() {
  const client = await connectAdmin();
  const name = `role_${Math.random().toString(36).slice(2)}`;
  await client.query(`create role ${name} login password 'p'`);
  return {
    name,
    execute: (sql: string) => client.query(sql),
    async [Symbol.asyncDispose]() {
      await client.query(`drop owned by ${name} cascade`);
      await client.query(`drop role ${name}`);
      await client.end();
    },
  };
}
