import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createGrantSweep } from '../../src/maintenance/grant-sweep.ts';
import { caseFigure } from '../support/security/figure.ts';
import { type Reply, startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { oauthFlow } from '../support/sync/oauth-flow.ts';
import { specDocument } from '../support/upstream/api-fixtures.ts';
import { type OauthServer, startOauthServer } from '../support/upstream/oauth-server.ts';
import { recordedEvents } from '../support/webhooks/events.ts';

const clientSecret = 'c1ient+secret/of:this=test';
const returnUrl = 'https://app.acme.example/connected?tab=crm';
const started = new AsyncDisposableStack();
let oauth: OauthServer;
let api: TestApi;
let org: TestOrg;
let otherOrg: TestOrg;

beforeAll(async () => {
  oauth = started.use(await startOauthServer());
  api = started.use(await startApi({ allow: oauth.hostPort }));
  [org, otherOrg] = [await api.newOrg(), await api.newOrg()];
});
beforeEach(async () => {
  oauth.reply = () => undefined;
  oauth.sentBack = {};
  await set(org, { returnOrigins: ['https://app.acme.example'], confirmationRequired: false });
});
afterAll(() => started.disposeAsync());

const { connect, authorizeUrl, come, tokensOf } = oauthFlow(() => ({ api, org, oauth, clientSecret }));

async function set({ call }: TestOrg, settings: object): Promise<void> {
  expect(await call('PATCH', '/oauth/settings', { body: settings })).toMatchObject({ status: 200, body: settings });
}

/** The spec keeps an id of the account, which the provider sends with the person. */
const ofRealm = { callback: { metadata: { realm: 'realmId' } } };

/** Where the browser of a customer is sent who agrees at the provider. */
async function sentBack(connectionId: string, query: Readonly<Record<string, string>> = {}): Promise<URL> {
  const url = await authorizeUrl(connectionId, org, { returnUrl, ...query });
  return addressIn(await come(await oauth.agree(url)));
}

function addressIn({ status, headers, body }: Reply): URL {
  expect({ status, body }).toEqual({ status: 303, body: null });
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('cache-control')).toBe('no-store');
  return new URL(headers.get('location') ?? '');
}

async function codeFor(connectionId: string, query: Readonly<Record<string, string>> = {}): Promise<string> {
  const { searchParams } = await sentBack(connectionId, query);
  expect([...searchParams.keys()]).toEqual(['tab', 'code']);
  return searchParams.get('code') ?? '';
}

const confirm = (connectionId: string, code: string, { call }: TestOrg = org) =>
  call('POST', '/oauth/confirm', { body: { connectionId, code } });

/** A connection one of whose resources has an auth of its own. */
async function connectWithResource(): Promise<string> {
  const key = 'confirm-resource';
  const document = specDocument({ key });
  const auth = {
    kind: 'oauth2_authorization_code',
    authorizeUrl: `${oauth.url}/authorize`,
    tokenUrl: oauth.tokenUrl,
    clientId: 'client',
    clientAuth: 'none',
  };
  const resources = document.resources.map((one) => ({ ...one, auth }));
  await org.call('POST', '/specs', { body: { ...document, auth, resources } });
  await org.call('POST', `/specs/${key}/versions/1.0.0/publish`);
  const names = { workspaceId: org.workspaceId, specKey: key, specVersion: '1.0.0', displayName: key };
  const body = { ...names, params: {}, secrets: { apiKey: clientSecret } };
  return (await org.call('POST', '/connections', { body })).body.id;
}

const connectionOf = async (id: string) => (await org.call('GET', `/connections/${id}`)).body;

const notFound = { status: 404, body: { error: { code: 'not_found' } } };
const conflict = { status: 409, body: { error: { code: 'conflict' } } };

/** As if ten minutes had passed. */
const age = (connectionId: string) =>
  sql`update pending_grants set expires_at = now() - interval '1 s' where connection_id = ${connectionId}`.execute(
    api.deps.db,
  );

const pendingOf = (connectionId: string) =>
  api.deps.db.selectFrom('pendingGrants').selectAll().where('connectionId', '=', connectionId).execute();

describe('the settings of an org', () => {
  it('are its own, and change only where they are named', async () => {
    const one = await api.newOrg();
    const read = async () => (await one.call('GET', '/oauth/settings')).body;
    expect(await read()).toEqual({ returnOrigins: [], confirmationRequired: false });
    const origins = ['https://APP.acme.example/', 'http://localhost:5173'];
    const returnOrigins = ['https://app.acme.example', 'http://localhost:5173'];
    const { body } = await one.call('PATCH', '/oauth/settings', { body: { returnOrigins: origins } });
    expect(body).toEqual({ returnOrigins, confirmationRequired: false });
    await set(one, { confirmationRequired: true });
    expect(await read()).toEqual({ returnOrigins, confirmationRequired: true });
    const { body: theirs } = await otherOrg.call('GET', '/oauth/settings');
    expect(theirs).toEqual({ returnOrigins: [], confirmationRequired: false });
  });

  it.each([
    'http://app.acme.example',
    'https://app.acme.example/path',
    'https://user@app.acme.example',
    'https://*.acme.example',
    'app.acme.example',
    'javascript:alert(1)',
    'null',
    '',
  ])('take no origin that is none, or where anybody can listen: %s', async (origin) => {
    const reply = await org.call('PATCH', '/oauth/settings', { body: { returnOrigins: [origin] } });
    expect(reply).toMatchObject({ status: 400, body: { error: { issues: [{ path: 'returnOrigins.0' }] } } });
  });
});

describe('authorize with a return URL', () => {
  it.each([
    ['is of another origin', 'https://evil.example/connected', /origin that the org does not allow/],
    ['is of another port', 'https://app.acme.example:8443/connected', /origin/],
    ['only begins like an allowed one', 'https://app.acme.example.evil.example/', /origin/],
    ['has a user name', 'https://app.acme.example@evil.example/', /user name/],
    ['has a password', 'https://u:p@app.acme.example/', /user name/],
    ['has a fragment', 'https://app.acme.example/connected#here', /fragment/],
    ['has an empty fragment', 'https://app.acme.example/connected#', /fragment/],
    ['is not encrypted', 'http://app.acme.example/connected', /https/],
    ['is no web address', 'javascript:alert(1)', /https/],
    ['is relative', '//app.acme.example/connected', /absolute/],
    ['is empty', '', /absolute/],
    ['is endless', `https://app.acme.example/${'x'.repeat(2000)}`, /2000/],
  ])('refuses one that %s', async (_what, given, words) => {
    const id = await connect();
    const reply = await org.call(
      'GET',
      `/oauth/${id}/authorize?${new URLSearchParams({ returnUrl: given }).toString()}`,
    );
    expect(reply).toMatchObject({
      status: 400,
      body: { error: { code: 'validation', issues: [{ path: 'returnUrl', message: expect.stringMatching(words) }] } },
    });
    expect(JSON.stringify(reply.body)).not.toContain('evil');
  });

  it('takes one on the machine of the customer, without encryption', async () => {
    await set(org, { returnOrigins: ['http://127.0.0.1:5173', 'http://[::1]:5173', 'http://localhost:5173'] });
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      const page = `http://${host}:5173/done`;
      const { href } = await sentBack(await connect(), { returnUrl: page });
      expect(href).toMatch(/^http:\/\/[^/]+:5173\/done\?code=[\w-]{43}$/);
    }
  });
});

describe('a grant that waits to be confirmed', () => {
  it('is stored only when the org confirms it, which then tells whose it is', async () => {
    const id = await connect(ofRealm);
    oauth.sentBack = { realmId: '42' };
    const code = await codeFor(id);
    expect(await tokensOf(id)).toBe(0);
    expect(await connectionOf(id)).toMatchObject({ status: 'pending', accounts: [] });

    expect(await confirm(id, code)).toMatchObject({ status: 200, body: { connected: true, connectionId: id } });
    expect(await tokensOf(id)).toBe(1);
    const accounts = [{ resource: null, values: { realm: '42' } }];
    expect(await connectionOf(id)).toMatchObject({ status: 'active', accounts });
    const events = await recordedEvents(api.deps.db, { orgId: org.orgId, connectionId: id });
    expect(events.at(-1)).toMatchObject({ type: 'connection.activated', data: { reason: 'oauth', accounts } });
  });

  it('is nothing to another org, to another connection, or to nobody in particular', async () => {
    const [id, sibling] = [await connect(), await connect()];
    const code = await codeFor(id);
    const theirs = await connect({}, undefined, otherOrg);
    for (const [connectionId, by] of [
      [id, otherOrg],
      [theirs, otherOrg],
      [theirs, org],
      [sibling, org],
    ] as const) {
      const reply = await confirm(connectionId, code, by);
      caseFigure('forgedOauthStates', reply.status !== 404);
      expect(reply).toMatchObject(notFound);
    }
    const wrong = await confirm(id, `${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}`);
    caseFigure('forgedOauthStates', wrong.status !== 404);
    expect(wrong).toMatchObject(notFound);
    const nobody = await org.call('POST', '/oauth/confirm', { body: { connectionId: id, code }, apiKey: null });
    expect(nobody.status).toBe(401);
    for (const one of [id, sibling]) expect(await tokensOf(one)).toBe(0);
    expect((await confirm(id, code)).status).toBe(200);
  });

  it('is confirmed once', async () => {
    const id = await connect();
    const code = await codeFor(id);
    const replies = await Promise.all([confirm(id, code), confirm(id, code)]);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 409]));
    const again = await confirm(id, code);
    caseFigure('forgedOauthStates', again.status !== 409);
    expect(again).toMatchObject(conflict);
    expect(again.body.error.message).toContain('confirmed already');
  });

  it('is sealed, and its code is nowhere', async () => {
    const id = await connect();
    const code = await codeFor(id);
    const { rows } = await sql<{ row: string }>`
      select p::text || encode(ciphertext, 'escape') as row from pending_grants p where connection_id = ${id}`.execute(
      api.deps.db,
    );
    expect(rows).toHaveLength(1);
    const digests = [code, `pending-grant${code}`].map((text) => createHash('sha256').update(text).digest('base64url'));
    const shown = [...rows.map((one) => one.row), ...api.logLines].join('\n');
    for (const secret of [code, clientSecret, 'eyJ', ...digests]) expect(shown).not.toContain(secret);
    await confirm(id, code);
    expect(await pendingOf(id)).toMatchObject([{ ciphertext: null, wrappedKey: null }]);
  });

  it('is replaced by a later one, also by one that need not wait', async () => {
    const id = await connect(ofRealm);
    const before = oauth.revocations();
    const codes: string[] = [];
    for (const realmId of ['1', '2']) {
      oauth.sentBack = { realmId };
      codes.push(await codeFor(id));
    }
    const [first = '', second = ''] = codes;
    expect(await confirm(id, first)).toMatchObject(notFound);
    expect((await come(await oauth.agree(await authorizeUrl(id)))).status).toBe(200);
    expect(await confirm(id, second)).toMatchObject(notFound);
    expect((await connectionOf(id)).accounts).toMatchObject([{ values: { realm: '2' } }]);
    expect((await confirm(id, await codeFor(id))).status).toBe(200);
    // Only the first account is none that the connection has.
    await eventually('its grant is revoked', async () => oauth.revocations() === before + 1);
  });

  it('of a resource is another one than that of the connection', async () => {
    const id = await connectWithResource();
    const ofConnection = await codeFor(id);
    const ofResource = await codeFor(id, { resource: 'items' });
    expect(await confirm(id, ofResource)).toMatchObject({ status: 200, body: { awaiting: [null] } });
    expect((await connectionOf(id)).status).toBe('pending');
    expect((await confirm(id, ofConnection)).body).toEqual({ connected: true, connectionId: id });
    expect((await connectionOf(id)).status).toBe('active');
  });

  it('is of the account that was agreed to when it is confirmed', async () => {
    const id = await connect(ofRealm);
    oauth.sentBack = { realmId: 'a' };
    expect((await confirm(id, await codeFor(id))).status).toBe(200);
    oauth.sentBack = { realmId: 'b' };
    const refused = await confirm(id, await codeFor(id));
    expect(refused).toMatchObject({ ...conflict, body: { error: { message: expect.stringContaining('newAccount') } } });
    const code = await codeFor(id, { newAccount: 'true' });
    expect((await connectionOf(id)).accounts).toMatchObject([{ values: { realm: 'a' } }]);
    expect((await confirm(id, code)).status).toBe(200);
    expect((await connectionOf(id)).accounts).toMatchObject([{ values: { realm: 'b' } }]);
  });

  it('does not fit a connection that has another client by then', async () => {
    const id = await connect({ clientId: '{{ secrets.apiKey }}' });
    const code = await codeFor(id);
    await org.call('PATCH', `/connections/${id}`, { body: { secrets: { apiKey: 'another' } } });
    expect(await confirm(id, code)).toMatchObject(conflict);
    expect(await tokensOf(id)).toBe(0);
  });

  it('stays where the plan allows no other active connection', async () => {
    const small = await api.newOrg({ activeConnectionsMax: 0 });
    await set(small, { returnOrigins: ['https://app.acme.example'] });
    const id = await connect({}, undefined, small);
    const address = addressIn(await come(await oauth.agree(await authorizeUrl(id, small, { returnUrl }))));
    const reply = await confirm(id, address.searchParams.get('code') ?? '', small);
    expect(reply).toMatchObject({ status: 402, body: { error: { code: 'plan_limit' } } });
    expect(await tokensOf(id)).toBe(1);
  });
});

describe('a grant that nobody confirms', () => {
  const sweep = async () => createGrantSweep(api.deps)();

  it('is dead after ten minutes, removed, and revoked at the provider', async () => {
    const id = await connect();
    const code = await codeFor(id);
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from expires_at - now())::int as seconds from pending_grants where connection_id = ${id}`.execute(
      api.deps.db,
    );
    expect(rows[0]?.seconds).toBeGreaterThan(590);
    expect(rows[0]?.seconds).toBeLessThanOrEqual(600);
    await sweep();
    expect(await pendingOf(id)).toHaveLength(1);
    await age(id);
    expect(await confirm(id, code)).toMatchObject(notFound);
    const before = oauth.revocations();
    await sweep();
    expect(await pendingOf(id)).toEqual([]);
    await eventually('the grant is revoked', async () => oauth.revocations() === before + 1);
    expect(await confirm(id, code)).toMatchObject(notFound);
    expect(await tokensOf(id)).toBe(0);
  });

  it('is not revoked where that could end the one in use, which is of the same account', async () => {
    const [same, other] = [await connect(ofRealm), await connect(ofRealm)];
    for (const [id, realmId] of [
      [same, 'a'],
      [other, 'b'],
    ] as const) {
      oauth.sentBack = { realmId: 'a' };
      expect((await confirm(id, await codeFor(id))).status).toBe(200);
      oauth.sentBack = { realmId };
      await codeFor(id);
      await age(id);
    }
    const before = oauth.revocations();
    await sweep();
    await eventually('that of the other account is revoked', async () => oauth.revocations() > before);
    expect(oauth.revocations()).toBe(before + 1);
    for (const id of [same, other]) {
      expect(await tokensOf(id)).toBe(1);
      expect(await connectionOf(id)).toMatchObject({ status: 'active', accounts: [{ values: { realm: 'a' } }] });
    }
  });

  it('goes with its connection', async () => {
    const id = await connect();
    const code = await codeFor(id);
    const before = oauth.revocations();
    expect((await org.call('DELETE', `/connections/${id}`)).status).toBe(200);
    expect(await pendingOf(id)).toEqual([]);
    expect(await confirm(id, code)).toMatchObject(notFound);
    await eventually('the grant is revoked', async () => oauth.revocations() === before + 1);
  });
});

describe('an org that requires authorizations to be confirmed', () => {
  it('has none without a return URL, also not one that began before', async () => {
    const id = await connect();
    const path = await oauth.agree(await authorizeUrl(id));
    await set(org, { confirmationRequired: true });
    const begun = await org.call('GET', `/oauth/${id}/authorize`);
    expect(begun).toMatchObject({ ...conflict, body: { error: { message: expect.stringContaining('?returnUrl') } } });
    const before = oauth.requests.length;
    expect(await come(path)).toMatchObject(conflict);
    expect(oauth.requests).toHaveLength(before);
    expect(await tokensOf(id)).toBe(0);
    expect((await confirm(id, await codeFor(id))).status).toBe(200);
  });

  it('decides for itself alone', async () => {
    await set(org, { confirmationRequired: true });
    const theirs = await connect({}, undefined, otherOrg);
    expect((await come(await oauth.agree(await authorizeUrl(theirs, otherOrg)))).status).toBe(200);
  });
});

describe('the page of the org', () => {
  it.each([
    ['access_denied', 'access_denied'],
    ['<script>', 'provider_error'],
    ['%00', 'provider_error'],
  ])('gets to know why there is no grant: the provider says %s', async (error, shown) => {
    const id = await connect();
    const state = new URL(await authorizeUrl(id, org, { returnUrl })).searchParams.get('state');
    const path = `/oauth/callback?error=${error}&error_description=${clientSecret}&state=${state}`;
    expect(addressIn(await come(path)).href).toBe(`${returnUrl}&error=${shown}`);
    expect((await come(path)).status).toBe(400);
    expect(await pendingOf(id)).toEqual([]);
  });

  it.each([
    ['no token', { status: 200, body: { token_type: 'Bearer' } }],
    ['a refusal', { status: 400, body: { error: 'invalid_grant', error_description: clientSecret } }],
    ['trouble', { status: 503, body: {} }],
  ])('gets a code, and no words, when the token endpoint responds with %s', async (_what, rejection) => {
    const id = await connect();
    oauth.reply = () => rejection;
    expect((await sentBack(id)).href).toBe(`${returnUrl}&error=conflict`);
    expect(await pendingOf(id)).toEqual([]);
  });

  it('gets a code when the response is of another issuer', async () => {
    oauth.sentBack = { iss: 'https://evil.example' };
    expect((await sentBack(await connect())).href).toBe(`${returnUrl}&error=unauthorized`);
  });

  it('has no code or error of its own in its address', async () => {
    const { searchParams } = await sentBack(await connect(), { returnUrl: `${returnUrl}&code=theirs&error=theirs` });
    expect(searchParams.getAll('code')).toHaveLength(1);
    expect(searchParams.get('code')).not.toBe('theirs');
    expect(searchParams.has('error')).toBe(false);
  });

  it('is left out where the org no longer allows it, and nothing is stored', async () => {
    const id = await connect();
    const paths = [await oauth.agree(await authorizeUrl(id, org, { returnUrl }))];
    const state = new URL(await authorizeUrl(id, org, { returnUrl })).searchParams.get('state');
    paths.push(`/oauth/callback?error=access_denied&state=${state}`);
    await set(org, { returnOrigins: ['https://elsewhere.example'] });
    const before = oauth.requests.length;
    for (const path of paths) {
      const reply = await come(path);
      expect(reply).toMatchObject(conflict);
      expect(reply.headers.get('location')).toBeNull();
    }
    expect(oauth.requests).toHaveLength(before);
    expect(await pendingOf(id)).toEqual([]);
  });

  it('is sent a state once', async () => {
    const path = await oauth.agree(await authorizeUrl(await connect(), org, { returnUrl }));
    const replies = await Promise.all([come(path), come(path)]);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([303, 401]));
  });
});
