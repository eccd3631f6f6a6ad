import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditedDestination, openAuditedDestination } from '../support/destinations/audit.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { type OauthServer, startOauthServer } from '../support/upstream/oauth-server.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';
import { startUpstream, type Upstream } from '../support/upstream/upstream.ts';
import { recordedEvents } from '../support/webhooks/events.ts';

const started = new AsyncDisposableStack();
const api = createScriptedApi();
let upstream: Upstream;
let oauth: OauthServer;
let stack: Stack;
let destination: AuditedDestination;
let id: string;
beforeAll(async () => {
  upstream = started.use(await startUpstream({ collections: {}, reply: api.reply }));
  oauth = started.use(await startOauthServer());
  stack = started.use(await startStack({ allow: [upstream.hostPort, oauth.hostPort] }));
  destination = await openAuditedDestination();
  await ask('POST', '/specs', spec());
  await ask('POST', '/specs/realms/versions/1.0.0/publish');
  const names = { workspaceId: stack.org.workspaceId, specKey: 'realms', specVersion: '1.0.0', displayName: 'r' };
  id = (await ask('POST', '/connections', { ...names, params: {}, secrets: { databaseUrl: destination.url } })).id;
});
afterAll(() => started.disposeAsync());

/** What each account has; record 1 is another one in each. */
const records: Readonly<Record<string, readonly object[]>> = {
  a: [{ id: 1, at: '2025-03-01T00:00:00Z', of: 'a' }],
  b: [
    { id: 1, at: '2025-01-01T00:00:00Z', of: 'b' },
    { id: 2, at: '2025-02-01T00:00:00Z', of: 'b' },
  ],
};

api.serve('things', (query, { headers }) => {
  const all = records[String(headers['x-realm'])] ?? [];
  return { body: all.filter((one) => 'at' in one && String(one.at) >= (query.get('since') ?? '')) };
});

api.serve('kids', (query, { headers }) => {
  const [realm, of] = [String(headers['x-realm']), String(query.get('of'))];
  return of.startsWith(realm) ? { body: [{ id: `kid of ${of}` }] } : { status: 403, body: {} };
});
api.serve('owners', (_, { headers }) => ({ body: [{ id: `${String(headers['x-realm'])}1` }] }));

api.serve('names', (_, { headers }) => ({ body: [{ key: 'one', value: `of ${String(headers['x-realm'])}` }] }));

const spec = () => ({
  metadata: { key: 'realms', name: 'realms', version: '1.0.0' },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  auth: {
    kind: 'oauth2_authorization_code',
    authorizeUrl: `${oauth.url}/authorize`,
    tokenUrl: oauth.tokenUrl,
    revokeUrl: `${oauth.url}/revoke`,
    clientId: 'client',
    clientAuth: 'none',
    callback: { metadata: { realm: 'realmId' } },
    tokenResponse: { metadata: { type: 'token_type' } },
  },
  http: { baseUrl: upstream.url, headers: { 'x-realm': '{{ auth.realm }}' }, rateLimit: { requests: 10_000 } },
  lookups: [
    {
      ...{ assignTo: 'names', kind: 'request', request: { path: '/names' }, keyBy: 'key', value: 'value' },
      cache: { scope: 'connection' },
    },
  ],
  resources: [
    {
      key: 'named',
      primaryKey: 'id',
      request: { path: '/owners' },
      transform: "{ 'id': id, 'name': $lookups.names.one }",
    },
    {
      key: 'things',
      primaryKey: 'id',
      request: { path: '/things', query: { since: '{{ window.from }}' } },
      incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' },
    },
    { key: 'owners', primaryKey: 'id', request: { path: '/owners' } },
    {
      key: 'kids',
      primaryKey: 'id',
      forEach: [{ as: 'owner', resource: 'owners', from: 'store' }],
      request: { path: '/kids', query: { of: '{{ each.owner.id }}' } },
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});

async function ask(method: string, path: string, body?: unknown) {
  const reply = await stack.org.call(method, path, { body });
  expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
  return reply.body;
}

/** The customer signs in to the account of a realm, and comes back. */
async function authorize(realmId: string, query = '') {
  oauth.sentBack = { realmId };
  const { authorizeUrl } = await ask('GET', `/oauth/${id}/authorize${query}`);
  return await stack.org.call('GET', (await oauth.agree(authorizeUrl)).replace('/api/v1', ''));
}

async function sync(resource = 'things') {
  const { id: runId } = await ask('POST', `/connections/${id}/sync`, { resource });
  return eventually('the run ends', async () => {
    const run = await ask('GET', `/runs/${runId}`);
    return run.finishedAt !== null && run;
  });
}

describe('a customer who authorizes again', () => {
  it('goes on where the last run stopped, if the account is the same', async () => {
    expect((await authorize('a')).status).toBe(200);
    expect(await sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect((await authorize('a')).status).toBe(200);
    expect(await sync()).toMatchObject({ notes: {}, watermarkBefore: '2025-03-01T00:00:00.000Z' });
  });

  it('is the account that the connection and its event show, and nothing else that is kept', async () => {
    const accounts = [{ resource: null, values: { realm: 'a' } }];
    expect((await ask('GET', `/connections/${id}`)).accounts).toEqual(accounts);
    const events = await recordedEvents(stack.db, { orgId: stack.org.orgId, connectionId: id });
    const activated = events.filter(({ type }) => type === 'connection.activated');
    expect(activated).toMatchObject([{ data: { accounts } }]);
  });

  it('has the records below those of that account', async () => {
    await sync('owners');
    expect(await sync('kids')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
  });

  it('is told so, and changes nothing, if the account is another one', async () => {
    const reply = await authorize('b');
    expect(reply).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('newAccount') } } });
    expect(await sync()).toMatchObject({ status: 'succeeded', notes: {}, statsJson: { recordsOut: 0 } });
  });

  it('gets all of another account, if that is meant', async () => {
    expect((await authorize('b', '?newAccount=true')).status).toBe(200);
    expect(await sync()).toMatchObject({ status: 'succeeded', notes: { read_from_start: 1 } });
    const rows = await destination.query('select id::int, of from things order by id');
    expect(rows).toEqual([
      { id: 1, of: 'b' },
      { id: 2, of: 'b' },
    ]);
    expect((await authorize('b')).status).toBe(200);
    expect(await sync()).toMatchObject({ notes: {}, statsJson: { recordsOut: 0 } });
  });

  it('gets nothing for the records of the former account, and all below those of the new one', async () => {
    expect(await sync('kids')).toMatchObject({ status: 'partial', statsJson: { recordsIn: 0 } });
    await sync('owners');
    expect(await sync('kids')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(await destination.query('select id from kids order by id')).toEqual([
      { id: 'kid of a1' },
      { id: 'kid of b1' },
    ]);
  });

  it('gets no table that a run of the former account has loaded meanwhile', async () => {
    const held = upstream.hold(upstream.journal.length + 1);
    const { id: runId } = await ask('POST', `/connections/${id}/sync`, { resource: 'named' });
    await held.reached;
    expect(upstream.journal.at(-1)?.url).toContain('/names');
    expect((await authorize('a', '?newAccount=true')).status).toBe(200);
    held.release();
    await eventually('the run ends', async () => (await ask('GET', `/runs/${runId}`)).finishedAt !== null);
    expect(await sync('named')).toMatchObject({ status: 'succeeded' });
    expect(await destination.query("select name from named where id = 'a1'")).toEqual([{ name: 'of a' }]);
  });
});

describe('a grant that waits to be confirmed', () => {
  /** The customer signs in to the account of a realm; the code that their browser brings to the page of the org. */
  async function codeFor(realmId: string, query = ''): Promise<string> {
    const returnUrl = 'http://127.0.0.1:1/connected';
    await ask('PATCH', '/oauth/settings', { returnOrigins: [new URL(returnUrl).origin] });
    oauth.sentBack = { realmId };
    const { authorizeUrl } = await ask('GET', `/oauth/${id}/authorize?returnUrl=${returnUrl}${query}`);
    const response = await fetch(stack.apiUrl + (await oauth.agree(authorizeUrl)), { redirect: 'manual' });
    expect(response.status).toBe(303);
    return new URL(response.headers.get('location') ?? '').searchParams.get('code') ?? '';
  }

  it('touches nothing until then, and the account counts as the new one from then on', async () => {
    await sync();
    const code = await codeFor('b', '&newAccount=true');
    const before = await ask('GET', `/connections/${id}`);
    expect(before).toMatchObject({ status: 'active', accounts: [{ values: { realm: 'a' } }] });
    expect(await sync()).toMatchObject({ status: 'succeeded', notes: {}, statsJson: { recordsOut: 0 } });
    await ask('POST', '/oauth/confirm', { connectionId: id, code });
    expect((await ask('GET', `/connections/${id}`)).accounts).toEqual([{ resource: null, values: { realm: 'b' } }]);
    expect(await sync()).toMatchObject({ notes: { read_from_start: 1 }, statsJson: { recordsOut: 2 } });
  });

  it('is removed by a worker after ten minutes, and revoked at the provider', async () => {
    const code = await codeFor('a', '&newAccount=true');
    const before = oauth.revocations();
    await sql`update pending_grants set expires_at = now() where connection_id = ${id}`.execute(stack.db);
    await eventually('the grant is revoked', async () => oauth.revocations() > before);
    const { rows } = await sql`select from pending_grants where connection_id = ${id}`.execute(stack.db);
    expect(rows).toEqual([]);
    const reply = await stack.org.call('POST', '/oauth/confirm', { body: { connectionId: id, code } });
    expect(reply).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    expect(await sync()).toMatchObject({ status: 'succeeded', notes: {} });
  });
});
