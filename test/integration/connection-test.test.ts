import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleClient, openConsole } from '../support/console/console-client.ts';
import { type AuditedDestination, openAuditedDestination } from '../support/destinations/audit.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import { generateRecords, startUpstream, type Upstream } from '../support/upstream/upstream.ts';

const token = 'good-token-of-the-customer';
const started = new AsyncDisposableStack();
let upstream: Upstream;
let api: TestApi;
let org: TestOrg;
let destination: AuditedDestination;
/** Where an API takes requests and never responds. */
let silentPort: number;

beforeAll(async () => {
  const collections = { records: generateRecords(250) };
  upstream = started.use(await startUpstream({ collections, authorization: `Bearer ${token}` }));
  destination = started.use(await openAuditedDestination());
  silentPort = await unusedPort();
  api = started.use(
    await startApi({ allow: `${upstream.hostPort},127.0.0.1:${silentPort},${testDatabaseUrl().host}` }),
  );
  org = await customer();
});
afterAll(() => started.disposeAsync());

/** An org that has published the spec. */
async function customer(): Promise<TestOrg> {
  const made = await api.newOrg();
  const spec = {
    metadata: { key: 'tried', name: 'Tried', version: '1.0.0' },
    connectionParams: [
      { key: 'apiUrl', type: 'url' },
      ...['token', 'databaseUrl'].map((key) => ({ key, type: 'string', secret: true })),
    ],
    auth: { kind: 'bearer', token: '{{ secrets.token }}' },
    http: { baseUrl: '{{ params.apiUrl }}', retry: { maxAttempts: 1 } },
    resources: [
      ...(['store', 'live'] as const).map((from) => ({
        key: from,
        primaryKey: 'id',
        forEach: [{ as: 'of', resource: 'records', from }],
        request: { path: '/items/records/{{ each.of.id }}' },
      })),
      {
        key: 'listed',
        primaryKey: 'id',
        forEach: [{ as: 'id', values: '{{ ["r000001", "r000002"] }}' }],
        request: { path: '/items/records/{{ each.id }}' },
      },
      {
        key: 'records',
        primaryKey: 'id',
        request: { path: '/cursor/records', query: { per_page: '{{ page.size }}' } },
        response: { records: 'data' },
        pagination: { kind: 'cursor', next: 'body.next_cursor', size: 100, inject: { in: 'query', name: 'cursor' } },
        target: { table: 'records', columns: { name: { type: 'text' } } },
      },
    ],
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
  };
  await made.call('POST', '/specs', { body: spec });
  await made.call('POST', '/specs/tried/versions/1.0.0/publish');
  return made;
}

async function connection(
  secrets: Readonly<Record<string, unknown>> = {},
  { apiUrl = upstream.url, of = org }: { readonly apiUrl?: string; readonly of?: TestOrg } = {},
): Promise<string> {
  const { status, body } = await of.call('POST', '/connections', {
    body: {
      workspaceId: of.workspaceId,
      specKey: 'tried',
      specVersion: '1.0.0',
      displayName: 'tried',
      params: { apiUrl },
      secrets: { token, databaseUrl: destination.url, ...secrets },
    },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

const test = async (id: string, query = '') => await org.call('POST', `/connections/${id}/test${query}`);

describe('a test of a connection', () => {
  it('reads one page, reaches the destination and delivers nothing', async () => {
    const id = await connection();
    const before = upstream.journal.length;
    const { status, body } = await test(id);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ok: true,
      steps: [
        { step: 'values', ok: true, code: null },
        { step: 'source', ok: true, message: 'records: the first page has 100 records.' },
        { step: 'destination', ok: true },
      ],
      calls: [{ method: 'GET', statusCode: 200 }],
    });
    expect(upstream.journal).toHaveLength(before + 1);
    expect(await destination.query("select from pg_tables where schemaname = 'public'")).toEqual([]);
    expect((await org.call('GET', '/runs')).body).toEqual([]);
    expect((await org.call('GET', `/connections/${id}`)).body.status).toBe('pending');
  });

  it('says which step fails, and goes on with the others', async () => {
    const { body } = await test(await connection({ token: 'a-refused-token' }));
    expect(body).toMatchObject({
      ok: false,
      steps: [{ ok: true }, { step: 'source', ok: false, code: 'auth_failed' }, { step: 'destination', ok: true }],
    });
    expect(JSON.stringify(body)).not.toContain('a-refused-token');
  });

  it('says that a table does not fit the spec, before a run finds out', async () => {
    await using other = await openAuditedDestination();
    const id = await connection({ databaseUrl: other.url });
    await other.query(`create table records (
      id text, name integer, _connection_id text, _external_id text, _run_id text, _synced_at timestamptz,
      _deleted_at timestamptz, primary key (_connection_id, _external_id))`);
    const { body } = await test(id);
    expect(body).toMatchObject({ ok: false, steps: [{}, {}, { step: 'destination', code: 'destination_rejected' }] });
    expect(body.steps[2].message).toContain('"name"');
    await other.query('alter table records alter name type text');
    expect((await test(id)).body.steps[2]).toMatchObject({
      ok: true,
      message: expect.stringContaining('its table fits'),
    });
  });

  it('says that the destination refuses the login, without the password', async () => {
    const url = new URL(destination.url);
    url.password = 'wrong-password';
    url.username = 'nobody';
    const { body } = await test(await connection({ databaseUrl: url.href }));
    expect(body.steps[1]).toMatchObject({ step: 'source', ok: true });
    expect(body.steps[2]).toMatchObject({ step: 'destination', ok: false, code: 'destination_login' });
    expect(JSON.stringify(body)).not.toContain('wrong-password');
  });

  it('says that the address is closed, and sends nothing there', async () => {
    const { body } = await test(await connection({ databaseUrl: 'postgres://u:p@169.254.169.254/db' }));
    expect(body.steps[2]).toMatchObject({ step: 'destination', ok: false, code: 'egress_blocked' });
  });

  it('tries the resource that is asked for, and refuses one that is not there', async () => {
    const id = await connection();
    expect((await test(id, '?resource=records')).body.ok).toBe(true);
    const { status, body } = await test(id, '?resource=recrods');
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'validation', issues: [{ path: 'resource' }] });
  });

  it.each([
    ['of a list', 'listed', 'listed: the first page has 1 record.', 1],
    ['of records that are read live', 'live', 'live: the first page has 1 record.', 2],
    ['of records that were never synced', 'store', 'there is no record of records yet', 0],
  ])('reads the first partition %s', async (_what, resource, message, requests) => {
    const { body } = await test(await connection(), `?resource=${resource}`);
    expect(body.steps[1]).toMatchObject({ ok: true, message: expect.stringContaining(message) });
    expect(body.calls).toHaveLength(requests);
  });

  it('of 40 at once whose API is silent 20 are refused, and another org is served meanwhile', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
    await new Promise<void>((done) => silent.listen(silentPort, '127.0.0.1', done));
    const id = await connection({}, { apiUrl: `http://127.0.0.1:${silentPort}` });
    const refused = Promise.withResolvers<void>();
    const statuses: number[] = [];
    const tests = Array.from({ length: 40 }, async () => {
      const { status, headers } = await test(id);
      statuses.push(status);
      if (status === 429) expect(headers.get('retry-after')).toBe('2');
      if (statuses.length === 20) refused.resolve();
    });
    await refused.promise;
    const other = await customer();
    const theirs = await other.call('POST', `/connections/${await connection({}, { of: other })}/test`);
    expect(theirs.body).toMatchObject({ ok: true });
    expect(statuses).toEqual(Array(20).fill(429));
    silent.close();
    const cut = setInterval(() => sockets.forEach((socket) => void socket.destroy()), 20);
    await Promise.all(tests);
    clearInterval(cut);
    expect(statuses.slice(20)).toEqual(Array(20).fill(200));
    expect((await test(await connection())).body.ok).toBe(true);
  });

  it('stops at values that do not fit the spec', async () => {
    const id = await connection();
    await api.deps.db.updateTable('connections').set({ paramsJson: '{}' }).where('id', '=', id).execute();
    const { body } = await test(id);
    expect(body).toMatchObject({ ok: false, steps: [{ step: 'values', ok: false, code: 'spec_invalid' }], calls: [] });
    expect(body.steps).toHaveLength(1);
  });
});

describe('in the console, a connection in error', () => {
  const message = 'The API responded with 401 (status): check the credentials of the connection.';

  async function brokenConnection(secrets = {}): Promise<string> {
    const id = await connection(secrets);
    const now = new Date().toISOString();
    const error = { code: 'auth_failed', message, resourceKey: 'records', since: now, nextTestAt: now };
    const broken = { status: 'error', errorSince: now, error: JSON.stringify(error) } as const;
    await api.deps.db.updateTable('connections').set(broken).where('id', '=', id).execute();
    return id;
  }
  const press = (us: ConsoleClient, id: string) =>
    us.post(`/console/connections/${id}/test`, { activate: 'on', resource: 'records' });

  it('says its error and has one primary button, which activates it if everything works', async () => {
    const us = await openConsole(api, org.apiKey);
    const id = await brokenConnection();
    const { text } = await us.get(`/console/connections/${id}`);
    expect(text).toContain(message);
    expect([...text.matchAll(/<button class="primary">([^<]*)/g)].map(([, label]) => label)).toEqual([
      'Test and activate',
    ]);
    const reply = await press(us, id);
    expect(reply.headers.get('location')).toBe(`/console/connections/${id}?notice=tested-and-activated`);
    expect((await org.call('GET', `/connections/${id}`)).body).toMatchObject({ status: 'active', error: null });
  });

  it('stays in error while a step fails, which is shown', async () => {
    const us = await openConsole(api, org.apiKey);
    const id = await brokenConnection({ token: 'wrong' });
    const { status, text } = await press(us, id);
    expect(status).toBe(200);
    expect(text).toContain('Something fails');
    expect(text).toContain('Activate anyway');
    expect((await org.call('GET', `/connections/${id}`)).body.status).toBe('error');
  });
});
