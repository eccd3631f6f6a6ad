import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { orgScope } from '../../db/scope.ts';
import { newId } from '../../src/core/ids.ts';
import { endExpiredSessions } from '../../src/maintenance/connect-sweep.ts';
import type { Reply } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { type ConnectPlace, goodToken, openConnectPlace } from '../support/sync/connect-sessions.ts';
import { recordedEvents } from '../support/webhooks/events.ts';

let place: ConnectPlace;
beforeAll(async () => {
  place = await openConnectPlace();
});
afterAll(() => place[Symbol.asyncDispose]());
beforeEach(async () => {
  place.oauth.sentBack = { realmId: '1' };
  proofs.length = 0;
  const body = { returnOrigins: ['https://app.acme.example'], confirmationRequired: false };
  await place.org.call('PATCH', '/oauth/settings', { body });
});

const values = { account: 'globex', region: 'eu', token: goodToken };
const enter = (token: string, given: object) => place.as(token, 'PUT', '/connect/values', { values: given });
const test = (token: string, step: string) => place.as(token, 'POST', '/connect/test', { step });
/** What came to the browser of the customer after each consent. */
const proofs: string[] = [];
const finish = (token: string) => place.as(token, 'POST', '/connect/finish', { proofs });
const view = async (token: string) => (await place.as(token, 'GET', '/connect')).body;
const sessionOf = async (id: string) => (await place.org.call('GET', `/connect-sessions/${id}`)).body;
const connectionOf = (id: string) => place.org.call('GET', `/connections/${id}`);

async function testBoth(token: string): Promise<void> {
  for (const step of ['source', 'destination']) {
    const { status, body } = await test(token, step);
    expect({ status, body }, JSON.stringify(body)).toMatchObject({ status: 200, body: { ok: true } });
  }
}

async function testBothAfter(token: string, given: object): Promise<void> {
  expect((await enter(token, given)).status).toBe(200);
  await testBoth(token);
}

/** The cookie that the response sets, as the browser sends it. */
const cookieIn = ({ headers }: Reply): string => headers.get('set-cookie')?.split(';')[0] ?? '';

/** Consents in the browser that begins; the address where it lands. */
async function consent(token: string, cookie?: string): Promise<URL> {
  const begun = await place.as(token, 'POST', '/connect/authorize', undefined, cookie ? { cookie } : {});
  expect(begun.status, JSON.stringify(begun.body)).toBe(200);
  return await comeBack(await place.oauth.agree(begun.body.authorizeUrl), cookie ?? cookieIn(begun));
}

async function comeBack(path: string, cookie: string | null): Promise<URL> {
  const headers = cookie === null ? {} : { cookie };
  const { status, headers: sent } = await place.org.call('GET', path, { apiKey: null, headers });
  expect(status).toBe(303);
  const landed = new URL(sent.get('location') ?? '');
  if (landed.hash !== '') proofs.push(landed.hash.replace('#proof=', ''));
  return landed;
}

describe('a session with a form', () => {
  it('makes a connection that is active once its test has succeeded', async () => {
    const schedules = [{ resourceKey: 'records', cron: '*/15 * * * *' }];
    const made = await place.begin({
      ...place.withForm,
      externalCustomerId: 'c-42',
      schedules,
      resources: ['records'],
    });
    expect(made.url).toBe(`http://localhost:3100/connect/${made.id}#${made.token}`);
    expect(await sessionOf(made.id)).toMatchObject({
      state: 'open',
      step: 'values',
      openedAt: null,
      connectionId: null,
    });

    expect((await view(made.token)).fields).toMatchObject([
      { key: 'account', label: 'Account', example: 'globex', format: 'subdomain', required: true, value: null },
      { key: 'region', choices: ['eu', 'us'] },
      { key: 'since', required: false },
      { key: 'token', secret: true, isStored: false },
    ]);
    const entered = await enter(made.token, values);
    expect(entered).toMatchObject({ status: 200, body: { step: 'test', connectionId: null } });
    const { connectionId } = await sessionOf(made.id);
    expect((await connectionOf(connectionId)).body).toMatchObject({ status: 'pending', externalCustomerId: 'c-42' });
    expect((await finish(made.token)).status).toBe(409);

    await testBoth(made.token);
    expect((await connectionOf(connectionId)).body.status).toBe('pending');
    expect(await finish(made.token)).toMatchObject({
      status: 200,
      body: { returnAddress: null, view: { state: 'connected', step: 'done', connectionId, fields: [] } },
    });
    expect((await connectionOf(connectionId)).body.status).toBe('active');
    expect(await sessionOf(made.id)).toMatchObject({ state: 'connected', problem: null });
    const { body: all } = await place.org.call('GET', `/connections/${connectionId}/schedules`);
    expect(all).toMatchObject([{ ...schedules[0], timezone: 'UTC', enabled: true }]);
    const { body: runs } = await place.org.call('GET', `/runs?connectionId=${connectionId}`);
    expect(runs).toMatchObject([{ resourceKey: 'records', trigger: 'manual' }]);
    const events = await recordedEvents(place.api.deps.db, { orgId: place.org.orgId, connectionId });
    expect(events.map(({ type }) => type)).toContain('connection.activated');
    expect(events.find(({ type }) => type === 'connection.activated')?.data).toMatchObject({ reason: 'connect' });
    for (const act of [() => enter(made.token, values), () => test(made.token, 'source'), () => finish(made.token)]) {
      expect(await act()).toMatchObject({ status: 409 });
    }
  });

  it('names each mistake at its value, and goes on', async () => {
    const { id, token } = await place.begin(place.withForm);
    const refused = await enter(token, { account: 'globex.example', region: 'mars' });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'validation' } } });
    expect(refused.body.error.issues.map(({ path }: { path: string }) => path)).toEqual(['account', 'region', 'token']);
    expect(await sessionOf(id)).toMatchObject({ state: 'open', step: 'values', problem: { code: 'validation' } });
    expect(await enter(token, values)).toMatchObject({ status: 200, body: { step: 'test', problem: null } });
  });

  it('says that a test failed, keeps its words for the org, and forgets tests of other values', async () => {
    const { id, token } = await place.begin(place.withForm);
    await enter(token, { ...values, token: 'wrong-token' });
    const failed = await test(token, 'source');
    expect(failed.body).toEqual({
      ...{ step: 'source', ok: false, code: 'auth_failed', isTheirs: true, durationMs: expect.any(Number) },
    });
    expect((await sessionOf(id)).problem).toMatchObject({
      code: 'auth_failed',
      message: expect.stringMatching(/^source: /),
    });
    await test(token, 'destination');
    expect((await finish(token)).status).toBe(409);
    expect(await enter(token, values)).toMatchObject({ status: 200, body: { tested: [] } });
    await test(token, 'source');
    expect((await finish(token)).status).toBe(409);
    await test(token, 'destination');
    expect((await finish(token)).status).toBe(200);
    const { connectionId } = await sessionOf(id);
    const { body } = await place.org.call('GET', '/connections');
    expect(body.filter((one: { id: string }) => one.id === connectionId)).toHaveLength(1);
  });

  it('shows nothing that the org has fixed, and lets nobody change it', async () => {
    const { token } = await place.begin(place.withForm);
    const seen = [await place.as(token, 'GET', '/connect'), await enter(token, values)];
    seen.push(await enter(token, { ...values, apiUrl: 'https://evil.example' }));
    seen.push(await enter(token, { ...values, databaseUrl: 'postgres://evil.example/x' }));
    seen.push(await test(token, 'source'), await test(token, 'destination'), await finish(token));
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 400, 400, 200, 200, 200]);
    const shown = JSON.stringify(seen.map(({ body }) => body));
    for (const text of [place.upstream.hostPort, place.destination.url, goodToken]) expect(shown).not.toContain(text);
  });

  it('keeps the words of a destination that the org has fixed from the customer', async () => {
    const secrets = { databaseUrl: 'postgres://role:pass@127.0.0.1:1/nowhere' };
    const { id, token } = await place.begin({ ...place.withForm, secrets });
    await enter(token, values);
    await test(token, 'source');
    const { body } = await test(token, 'destination');
    expect(body).toMatchObject({ ok: false, isTheirs: false });
    expect(JSON.stringify(body)).not.toContain('127.0.0.1');
    expect((await sessionOf(id)).problem.message).toMatch(/^destination: /);
  });

  it('leaves a secret as it is that is not entered again', async () => {
    const { token } = await place.begin(place.withForm);
    await enter(token, values);
    const { token: _token, ...others } = values;
    expect(await enter(token, { ...others, account: 'other' })).toMatchObject({ status: 200 });
    expect((await view(token)).fields).toMatchObject([{ value: 'other' }, {}, {}, { isStored: true, value: null }]);
    expect((await test(token, 'source')).body.ok).toBe(true);
  });

  it('sends no secret that is there to an address of the choice of whoever has its token', async () => {
    const { token } = await place.begin({ ...place.withForm, params: {} });
    const given = { ...values, apiUrl: place.upstream.url };
    expect((await enter(token, given)).status).toBe(200);
    const { token: _token, ...others } = given;
    expect((await enter(token, others)).status).toBe(200);
    const moved = { ...others, apiUrl: place.oauth.url };
    const refused = await enter(token, moved);
    expect(refused.status, JSON.stringify(refused.body)).toBe(400);
    expect(refused.body.error.issues.map(({ path }: { path: string }) => path)).toEqual(['token']);
    expect((await view(token)).fields).toContainEqual(
      expect.objectContaining({ key: 'apiUrl', value: place.upstream.url }),
    );
    expect((await enter(token, { ...moved, token: 'another-token' })).status).toBe(200);
    await testBothAfter(token, given);
    expect((await finish(token)).status).toBe(200);
  });

  it('makes one connection for two tabs', async () => {
    const { id, token } = await place.begin({ ...place.withForm, displayName: 'two tabs' });
    const replies = await Promise.all([enter(token, values), enter(token, values)]);
    // The second waits for the first, or is told to try again.
    expect(replies.map(({ status }) => status)).toContain(200);
    expect((await enter(token, values)).status).toBe(200);
    const { body } = await place.org.call('GET', '/connections');
    const { connectionId } = await sessionOf(id);
    const own = body.filter(({ displayName }: { displayName: string }) => displayName === 'two tabs');
    expect(own).toMatchObject([{ id: connectionId }]);
  });
});

describe('what an org asks for', () => {
  const base = () => place.withForm;
  it.each([
    [
      'a value of no param',
      () => ({ ...base(), params: { apiUrl: place.upstream.url, nothing: 1 } }),
      'params.nothing',
    ],
    ['a fixed value that does not fit', () => ({ ...base(), params: { apiUrl: 'ftp://x' } }), 'params.apiUrl'],
    ['a param that it asks for and fixes', () => ({ ...base(), ask: ['apiUrl', 'token', 'account', 'region'] }), 'ask'],
    ['a param that it neither asks for nor fixes', () => ({ ...base(), ask: ['token', 'account'] }), 'params.region'],
    ['an unknown param', () => ({ ...base(), ask: ['nothing'] }), 'ask.0'],
    [
      'a schedule that is none',
      () => ({ ...base(), schedules: [{ resourceKey: 'records', cron: 'x' }] }),
      'schedules.0.cron',
    ],
    ['a resource that is none', () => ({ ...base(), resources: ['nothing'] }), 'resources.0'],
    ['another page to go to', () => ({ ...base(), returnUrl: 'https://evil.example/' }), 'returnUrl'],
    ['every page to frame it', () => ({ ...base(), allowedOrigins: ['*'] }), 'allowedOrigins.0'],
    [
      'a page with a policy of its own',
      () => ({ ...base(), allowedOrigins: ['https://a;sandbox'] }),
      'allowedOrigins.0',
    ],
    ['a day and more', () => ({ ...base(), ttlSeconds: 86_401 }), 'ttlSeconds'],
    [
      'where a secret goes that it fixes',
      () => ({ ...base(), params: {}, secrets: { databaseUrl: place.destination.url, token: goodToken } }),
      'params.apiUrl',
    ],
    [
      'by name where a secret goes that it fixes',
      () => ({
        ...{ ...base(), params: {}, secrets: { databaseUrl: place.destination.url, token: goodToken } },
        ask: ['apiUrl', 'account', 'region'],
      }),
      'ask',
    ],
    ['no spec', () => ({ workspaceId: place.org.workspaceId }), 'specKey'],
  ])('is refused before its customer sees it: %s', async (_what, body, path) => {
    const reply = await place.org.call('POST', '/connect-sessions', { body: body() });
    expect(reply.status, JSON.stringify(reply.body)).toBe(400);
    expect(reply.body.error.issues.map((issue: { path: string }) => issue.path)).toContain(path);
  });

  it('is of its own org', async () => {
    const other = await place.api.newOrg();
    const { id } = await place.begin(place.withForm);
    for (const [method, path] of [
      ['GET', `/connect-sessions/${id}`],
      ['DELETE', `/connect-sessions/${id}`],
    ] as const) {
      expect((await other.call(method, path)).status).toBe(404);
    }
    expect((await other.call('POST', '/connect-sessions', { body: place.withForm })).status).toBe(404);
    expect((await other.call('GET', '/connect-sessions')).body).toEqual([]);
  });
});

describe('a session with consent', () => {
  it('stores the grant of the browser that began it, with PKCE, when the test has succeeded', async () => {
    const { id, token } = await place.begin(place.withConsent);
    expect(await enter(token, {})).toMatchObject({ body: { step: 'authorize', consents: { given: 0, needed: 1 } } });
    place.oauth.sentBack = { realmId: '7' };
    const landed = await consent(token);
    expect(`${landed.pathname}${landed.search}`).toBe(`/connect/${id}?back`);
    expect(place.oauth.requests.at(-1)?.fields).toHaveProperty('code_verifier');
    const { connectionId } = await sessionOf(id);
    const tokens = () =>
      place.api.deps.db.selectFrom('tokens').where('connectionId', '=', connectionId).selectAll().execute();
    expect(await view(token)).toMatchObject({ step: 'test', consents: { given: 1, needed: 1 }, problem: null });
    await testBoth(token);
    expect(await tokens()).toEqual([]);
    expect((await finish(token)).status).toBe(200);
    expect(await tokens()).toHaveLength(1);
    const accounts = [{ resource: null, values: { realm: '7' } }];
    expect((await connectionOf(connectionId)).body).toMatchObject({ status: 'active', accounts });
  });

  it('takes nothing from another browser, and can go on', async () => {
    const { id, token } = await place.begin(place.withConsent);
    await enter(token, {});
    const before = place.oauth.requests.length;
    for (const cookie of [null, `connect_browser=${'x'.repeat(43)}`]) {
      const begun = await place.as(token, 'POST', '/connect/authorize');
      const landed = await comeBack(await place.oauth.agree(begun.body.authorizeUrl), cookie);
      expect(landed.search).toBe('?back=other_browser');
      expect(await sessionOf(id)).toMatchObject({ state: 'open', problem: { code: 'other_browser' } });
    }
    expect(place.oauth.requests).toHaveLength(before);
    expect((await view(token)).step).toBe('authorize');
    await consent(token);
    expect((await view(token)).step).toBe('test');
  });

  it.each([
    ['at once', null],
    ['by its org', 'https://app.acme.example/connected'],
  ])('is finished %s only for the browser that consented, not for others with its token', async (_what, returnUrl) => {
    const { id, token } = await place.begin({ ...place.withConsent, returnUrl });
    await enter(token, {});
    await consent(token);
    const [first = ''] = proofs;
    await consent(token);
    const [, last = ''] = proofs;
    await testBoth(token);
    expect(await view(token)).toMatchObject({ needsProof: true });
    for (const body of [undefined, {}, { proofs: [first] }, { proofs: ['x'.repeat(43)] }]) {
      const refused = await place.as(token, 'POST', '/connect/finish', body);
      expect(refused).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('window') } } });
    }
    const { connectionId } = await sessionOf(id);
    expect((await connectionOf(connectionId)).body.status).toBe('pending');
    expect((await place.as(token, 'POST', '/connect/finish', { proofs: [last] })).status).toBe(200);
    const again = await place.as(token, 'POST', '/connect/finish');
    expect(again.status).toBe(409);
    expect(JSON.stringify(await view(token)) + place.api.logLines.join('')).not.toContain(last);
  });

  it('sends no grant to an address that was chosen after the consent', async () => {
    const { token } = await place.begin({ ...place.withConsent, params: {} });
    await enter(token, { apiUrl: place.upstream.url });
    await consent(token);
    expect((await enter(token, { apiUrl: place.upstream.url })).body.step).toBe('test');
    expect((await enter(token, { apiUrl: place.oauth.url })).body.step).toBe('authorize');
    expect((await test(token, 'source')).status).toBe(409);
  });

  it('goes on after a customer declined', async () => {
    const { id, token } = await place.begin(place.withConsent);
    await enter(token, {});
    const begun = await place.as(token, 'POST', '/connect/authorize');
    const state = new URL(begun.body.authorizeUrl).searchParams.get('state') ?? '';
    const path = `/oauth/callback?${new URLSearchParams({ error: 'access_denied', state }).toString()}`;
    expect((await comeBack(path, cookieIn(begun))).search).toBe('?back');
    expect(await view(token)).toMatchObject({ step: 'authorize', problem: 'access_denied' });
    expect((await sessionOf(id)).problem.message).toMatch(/declined/);
    await consent(token);
    expect(await view(token)).toMatchObject({ step: 'test', problem: null });
  });

  it('keeps one cookie for the tabs of a browser', async () => {
    const { token } = await place.begin(place.withConsent);
    await enter(token, {});
    const first = await place.as(token, 'POST', '/connect/authorize');
    const cookie = cookieIn(first);
    const second = await place.as(token, 'POST', '/connect/authorize', undefined, { cookie });
    expect(cookieIn(second)).toBe(cookie);
    for (const { body } of [second, first]) {
      expect((await comeBack(await place.oauth.agree(body.authorizeUrl), cookie)).search).toBe('?back');
    }
    await testBoth(token);
    expect((await finish(token)).status).toBe(200);
  });

  it('needs a return URL where the org confirms every grant', async () => {
    await place.org.call('PATCH', '/oauth/settings', { body: { confirmationRequired: true } });
    const reply = await place.org.call('POST', '/connect-sessions', { body: place.withConsent });
    expect(reply).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('returnUrl') } } });
  });

  it('is held to what its org has set when it ends', async () => {
    const { id, token } = await place.begin(place.withConsent);
    await enter(token, {});
    await consent(token);
    await testBoth(token);
    await place.org.call('PATCH', '/oauth/settings', { body: { confirmationRequired: true } });
    expect((await finish(token)).status).toBe(409);
    const { connectionId, problem } = await sessionOf(id);
    expect(problem.message).toContain('returnUrl');
    expect((await connectionOf(connectionId)).body.status).toBe('pending');
  });

  it('that the provider refuses, or that comes without what the spec needs, can be tried again', async () => {
    const { id, token } = await place.begin(place.withConsent);
    await enter(token, {});
    place.oauth.reply = () => ({ status: 400, body: { error: 'invalid_grant' } });
    await consent(token);
    expect(await view(token)).toMatchObject({ step: 'authorize', problem: 'conflict' });
    place.oauth.reply = () => undefined;
    place.oauth.sentBack = {};
    await consent(token);
    expect(await view(token)).toMatchObject({ step: 'authorize', problem: 'conflict' });
    expect((await sessionOf(id)).problem.message).not.toContain('invalid_grant');
    place.oauth.sentBack = { realmId: '1' };
    await consent(token);
    await testBoth(token);
    expect((await finish(token)).status).toBe(200);
  });

  it('counts when the plan has room for its connection again', async () => {
    const small = await place.api.newOrg({ activeConnectionsMax: 0 });
    await small.call('POST', '/specs', {
      body: (await place.org.call('GET', '/specs/with-consent/versions/1.0.0')).body.specJson,
    });
    await small.call('POST', '/specs/with-consent/versions/1.0.0/publish');
    const { id, token } = await place.begin({ ...place.withConsent, workspaceId: small.workspaceId }, small);
    await enter(token, {});
    await consent(token);
    await testBoth(token);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(await finish(token)).toMatchObject({ status: 402, body: { error: { code: 'plan_limit' } } });
    }
    const { body } = await small.call('GET', `/connect-sessions/${id}`);
    expect(body).toMatchObject({ state: 'open', step: 'test', problem: { code: 'plan_limit' } });
    await sql`update orgs set active_connections_max = 1 where id = ${small.orgId}`.execute(place.api.deps.db);
    expect((await finish(token)).status).toBe(200);
  });
});

describe('a session with a return URL', () => {
  const returnUrl = 'https://app.acme.example/connected?tab=crm';
  const confirm = (sessionId: string, code: string, { call } = place.org) =>
    call('POST', '/connect-sessions/confirm', { body: { sessionId, code } });

  it('connects nobody until the org has confirmed who was there', async () => {
    const { id, token } = await place.begin({ ...place.withConsent, returnUrl });
    await enter(token, {});
    await consent(token);
    await testBoth(token);
    const { body } = await finish(token);
    const { origin, searchParams } = new URL(body.returnAddress);
    const code = searchParams.get('code') ?? '';
    expect({ origin, tab: searchParams.get('tab') }).toEqual({ origin: 'https://app.acme.example', tab: 'crm' });
    expect(body.view).toMatchObject({ state: 'open', step: 'confirm', connectionId: null });
    const { connectionId } = await sessionOf(id);
    expect((await connectionOf(connectionId)).body.status).toBe('pending');

    const other = await place.begin({ ...place.withConsent, returnUrl });
    expect((await confirm(other.id, code)).status).toBe(404);
    expect((await confirm(id, 'x'.repeat(43))).status).toBe(404);
    expect((await confirm(id, code, await place.api.newOrg())).status).toBe(404);
    expect((await connectionOf(connectionId)).body.status).toBe('pending');
    expect(await confirm(id, code)).toMatchObject({ status: 200, body: { state: 'connected', connectionId } });
    expect((await connectionOf(connectionId)).body.status).toBe('active');
    expect((await confirm(id, code)).status).toBe(409);
    expect(place.api.logLines.join('')).not.toContain(code);
  });

  it('replaces its code when the customer goes back, and takes it back with other values', async () => {
    const { id, token } = await place.begin({ ...place.withForm, returnUrl });
    const codeOf = async () => new URL((await finish(token)).body.returnAddress).searchParams.get('code') ?? '';
    await enter(token, values);
    await testBoth(token);
    const [first, second] = [await codeOf(), await codeOf()];
    expect((await confirm(id, first)).status).toBe(404);
    await enter(token, values);
    expect((await confirm(id, second)).status).toBe(404);
    await testBoth(token);
    expect((await confirm(id, await codeOf())).status).toBe(200);
  });
});

describe('a session of a connection', () => {
  async function connected(body: object, given: object, isConsent = false): Promise<string> {
    const { id, token } = await place.begin(body);
    await enter(token, given);
    if (isConsent) await consent(token);
    await testBoth(token);
    expect((await finish(token)).status).toBe(200);
    return (await sessionOf(id)).connectionId;
  }

  it('asks again for what its customer entered, and changes nothing before the end', async () => {
    const connectionId = await connected(place.withForm, values);
    const { id, token } = await place.begin({ connectionId });
    const { fields } = await view(token);
    expect(fields.map(({ key }: { key: string }) => key)).toEqual(['account', 'region', 'since', 'token']);
    expect(fields).toMatchObject([{ value: 'globex' }, { value: 'eu' }, {}, { isStored: true, value: null }]);
    expect(await enter(token, { account: 'initech', region: 'us', token: 'wrong-token' })).toMatchObject({
      status: 200,
    });
    expect((await test(token, 'source')).body).toMatchObject({ ok: false, code: 'auth_failed' });
    const { paramsJson } = (await connectionOf(connectionId)).body;
    expect(paramsJson).toMatchObject({ account: 'globex', region: 'eu' });
    expect((await place.org.call('POST', `/connections/${connectionId}/test`)).body.ok).toBe(true);
    await enter(token, { account: 'initech', region: 'us', token: goodToken });
    await testBoth(token);
    expect((await finish(token)).status).toBe(200);
    expect((await connectionOf(connectionId)).body).toMatchObject({
      status: 'active',
      paramsJson: { account: 'initech' },
    });
    expect((await sessionOf(id)).state).toBe('connected');
  });

  it('gets another consent, of the same account only', async () => {
    place.oauth.sentBack = { realmId: '1' };
    const connectionId = await connected(place.withConsent, {}, true);
    const { token } = await place.begin({ connectionId });
    expect(await view(token)).toMatchObject({ step: 'authorize', consents: { given: 0, needed: 1 } });
    place.oauth.sentBack = { realmId: '2' };
    await consent(token);
    expect(await view(token)).toMatchObject({ step: 'authorize', problem: 'other_account' });
    place.oauth.sentBack = { realmId: '1' };
    await consent(token);
    expect(await view(token)).toMatchObject({ step: 'test', problem: null });
    await testBoth(token);
    expect((await finish(token)).status).toBe(200);

    const other = await place.begin({ connectionId, newAccount: true });
    place.oauth.sentBack = { realmId: '2' };
    await consent(other.token);
    await testBoth(other.token);
    expect((await finish(other.token)).status).toBe(200);
    expect((await connectionOf(connectionId)).body.accounts).toMatchObject([{ values: { realm: '2' } }]);
  });

  it('lets nobody choose where its secrets and grants go', async () => {
    const connectionId = await connected(place.withForm, values);
    const body = { connectionId, ask: ['apiUrl'] };
    const refused = await place.org.call('POST', '/connect-sessions', { body });
    expect(refused.body.error.issues).toMatchObject([{ path: 'ask', message: expect.stringContaining('token') }]);

    const granted = await connected(place.withConsent, {}, true);
    const { token } = await place.begin({ connectionId: granted, ask: ['apiUrl'] });
    expect((await enter(token, { apiUrl: place.upstream.url })).body.step).toBe('test');
    expect((await enter(token, { apiUrl: place.oauth.url })).body.step).toBe('authorize');
    expect((await test(token, 'source')).status).toBe(409);
  });

  it('leaves what its org changes meanwhile', async () => {
    const connectionId = await connected(place.withForm, values);
    const { token } = await place.begin({ connectionId });
    await enter(token, { ...values, account: 'initech' });
    await testBoth(token);
    const params = { apiUrl: `${place.upstream.url}/`, account: 'globex', region: 'us' };
    const { status } = await place.org.call('PATCH', `/connections/${connectionId}`, { body: { params } });
    expect(status).toBe(200);
    expect((await finish(token)).status).toBe(200);
    const { paramsJson } = (await connectionOf(connectionId)).body;
    expect(paramsJson).toEqual({ ...params, account: 'initech', region: 'eu' });
  });

  it('changes nothing untested that its org has activated meanwhile', async () => {
    const { id, token } = await place.begin(place.withForm);
    await enter(token, values);
    const { connectionId } = await sessionOf(id);
    expect((await place.org.call('POST', `/connections/${connectionId}/activate`)).status).toBe(200);
    expect((await enter(token, { ...values, account: 'initech', token: 'wrong-token' })).status).toBe(200);
    expect((await test(token, 'source')).body.ok).toBe(false);
    expect((await connectionOf(connectionId)).body.paramsJson.account).toBe('globex');
    expect((await place.org.call('POST', `/connections/${connectionId}/test`)).body.ok).toBe(true);
  });

  it('changes nothing when it is confirmed after its grant is gone', async () => {
    const connectionId = await connected(place.withConsent, {}, true);
    const { id, token } = await place.begin({
      ...{ connectionId, ask: ['apiUrl'], returnUrl: 'https://app.acme.example/connected' },
      schedules: [{ resourceKey: 'records', cron: '*/15 * * * *' }],
    });
    await enter(token, { apiUrl: `${place.upstream.url}/` });
    await consent(token);
    await testBoth(token);
    const code = new URL((await finish(token)).body.returnAddress).searchParams.get('code');
    const { db } = place.api.deps;
    await db.deleteFrom('pendingGrants').where('connectionId', '=', connectionId).execute();
    const confirmed = await place.org.call('POST', '/connect-sessions/confirm', { body: { sessionId: id, code } });
    expect(confirmed.status, JSON.stringify(confirmed.body)).toBe(409);
    expect((await connectionOf(connectionId)).body.paramsJson).toEqual({ apiUrl: place.upstream.url });
    expect((await place.org.call('GET', `/connections/${connectionId}/schedules`)).body).toEqual([]);
  });

  it('is one of 20 that are open by API keys, and the only one of an embed token', async () => {
    const connectionId = await connected(place.withForm, values);
    const { body: embed } = await place.org.call('POST', '/tokens/embed', {
      body: { connectionId, scopes: ['reauthorize'] },
    });
    const headers = { 'x-service-embed-token': embed.token };
    const again = async (): Promise<string> => {
      const { status, body } = await place.org.call('POST', '/embed/connection/reauthorize', { apiKey: null, headers });
      expect(status, JSON.stringify(body)).toBe(201);
      return body.url.split('#')[1];
    };
    const first = await again();
    const second = await again();
    expect([(await view(first)).state, (await view(second)).state]).toEqual(['canceled', 'open']);
    for (let made = 0; made < 20; made += 1) await place.begin({ connectionId });
    expect(await place.org.call('POST', '/connect-sessions', { body: { connectionId } })).toMatchObject({
      status: 409,
    });
    expect((await view(await again())).state).toBe('open');
  });

  it('has something to do for its customer', async () => {
    const { body } = await place.org.call('POST', '/connections', {
      body: {
        ...{ workspaceId: place.org.workspaceId, specKey: 'with-form', specVersion: '1.0.0', displayName: 'own' },
        params: { apiUrl: place.upstream.url, account: 'globex', region: 'eu' },
        secrets: { databaseUrl: place.destination.url, token: 'wrong-token' },
      },
    });
    const refused = await place.org.call('POST', '/connect-sessions', { body: { connectionId: body.id } });
    expect(refused).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('ask') } } });
    const { token } = await place.begin({ connectionId: body.id, ask: ['token'] });
    expect((await view(token)).fields).toMatchObject([{ key: 'token' }]);
    expect((await enter(token, { account: 'other' })).status).toBe(400);
    await enter(token, { token: goodToken });
    await testBoth(token);
    expect((await finish(token)).status).toBe(200);
    expect((await connectionOf(body.id)).body.status).toBe('active');
  });

  it('ends with its connection', async () => {
    const connectionId = await connected(place.withForm, values);
    const { id, token } = await place.begin({ connectionId });
    await place.org.call('DELETE', `/connections/${connectionId}`);
    expect((await place.as(token, 'GET', '/connect')).status).toBe(404);
    expect(await sessionOf(id)).toMatchObject({ state: 'canceled' });
  });
});

describe('a session that nobody finishes', () => {
  const deps = () => place.api.deps;
  const rowOf = (id: string) =>
    deps().db.selectFrom('connectSessions').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const age = (id: string) =>
    sql`update connect_sessions set expires_at = now() - interval '1 s' where id = ${id}`.execute(deps().db);

  it('takes nothing any more, and its connection is removed', async () => {
    const { id, token } = await place.begin(place.withForm);
    await enter(token, values);
    const { connectionId } = await sessionOf(id);
    await age(id);
    expect(await sessionOf(id)).toMatchObject({ state: 'expired' });
    expect(await view(token)).toMatchObject({ state: 'expired', step: 'done', fields: [] });
    for (const act of [() => enter(token, values), () => test(token, 'source'), () => finish(token)]) {
      expect(await act()).toMatchObject({ status: 409 });
    }
    await endExpiredSessions(deps());
    expect((await connectionOf(connectionId)).status).toBe(404);
    expect(await sessionOf(id)).toMatchObject({ state: 'expired', connectionId: null, endedAt: expect.any(String) });
    expect(await rowOf(id)).toMatchObject({ ciphertext: null, kekId: null, confirmHash: null });
  });

  it('leaves a connection alone that was there before', async () => {
    const { body } = await place.org.call('POST', '/connections', {
      body: {
        ...{ workspaceId: place.org.workspaceId, specKey: 'with-consent', specVersion: '1.0.0', displayName: 'own' },
        params: { apiUrl: place.upstream.url },
        secrets: { databaseUrl: place.destination.url },
      },
    });
    const { id } = await place.begin({ connectionId: body.id });
    await age(id);
    await endExpiredSessions(deps());
    expect((await connectionOf(body.id)).status).toBe(200);
    expect(await sessionOf(id)).toMatchObject({ state: 'expired', connectionId: body.id });
  });

  it('keeps a grant as long as it lives, and deletes it without a revocation', async () => {
    const grantsOf = (connectionId: string) =>
      deps().db.selectFrom('pendingGrants').selectAll().where('connectionId', '=', connectionId).execute();
    const { id: first, token: ofFirst } = await place.begin(place.withConsent);
    await enter(ofFirst, {});
    await consent(ofFirst);
    await testBoth(ofFirst);
    await finish(ofFirst);
    const { connectionId } = await sessionOf(first);
    const before = place.oauth.revocations();
    for (const end of ['cancel', 'expire', 'of a connection']) {
      const body = end === 'of a connection' ? { connectionId } : { ...place.withConsent, ttlSeconds: 86_400 };
      const { id, token, expiresAt } = await place.begin(body);
      await enter(token, {});
      await consent(token);
      await consent(token);
      const { connectionId: own } = await sessionOf(id);
      const [grant] = await grantsOf(own);
      expect(new Date(grant?.expiresAt ?? 0)).toEqual(new Date(expiresAt));
      if (end === 'expire') {
        await age(id);
        await endExpiredSessions(deps());
      } else await place.org.call('DELETE', `/connect-sessions/${id}`);
      expect(await grantsOf(own)).toEqual([]);
    }
    // One that is due comes after those that are not.
    await place.org.call('DELETE', `/connections/${connectionId}`);
    await eventually('the grant of a deleted connection is revoked', async () => place.oauth.revocations() > before);
    expect(place.oauth.revocations()).toBe(before + 1);
  });

  it('is ended by its org at any time', async () => {
    const { id, token } = await place.begin(place.withForm);
    await enter(token, values);
    const { connectionId } = await sessionOf(id);
    expect(await place.org.call('DELETE', `/connect-sessions/${id}`)).toMatchObject({ body: { state: 'canceled' } });
    expect((await connectionOf(connectionId)).status).toBe(404);
    expect(await view(token)).toMatchObject({ state: 'canceled' });
    expect((await enter(token, values)).status).toBe(409);
  });
});

describe('the cookie of a browser', () => {
  it('is out of reach of scripts, and over https of every other host of the domain', async () => {
    const setBy = async ({ begin, as, withConsent }: ConnectPlace) => {
      const { token } = await begin(withConsent);
      await as(token, 'PUT', '/connect/values', { values: {} });
      return (await as(token, 'POST', '/connect/authorize')).headers.get('set-cookie') ?? '';
    };
    expect(await setBy(place)).toMatch(
      /^connect_browser=[\w-]{43}; Path=\/api\/v1; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
    await using secure = await openConnectPlace({ publicUrl: 'https://sync.example.com' });
    expect(await setBy(secure)).toMatch(
      /^__Host-connect_browser=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
  });
});

describe('the token of a session', () => {
  it('makes 120 requests a minute, and one test at a time', async () => {
    const { id, token } = await place.begin(place.withForm);
    const other = await place.begin(place.withForm);
    await enter(token, values);
    const busyUntil = (until: string | null) =>
      place.api.deps.db.updateTable('connectSessions').set({ busyUntil: until }).where('id', '=', id).execute();
    await busyUntil(new Date(Date.now() + 60_000).toISOString());
    expect((await test(token, 'source')).status).toBe(409);
    await busyUntil(null);
    expect((await test(token, 'source')).status).toBe(200);
    const statuses = await Promise.all(
      Array.from({ length: 130 }, async () => (await place.as(token, 'GET', '/connect')).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(117);
    expect(statuses.filter((status) => status === 429)).toHaveLength(13);
    expect((await view(other.token)).state).toBe('open');
  });

  it('is stored as a hash, logged nowhere, and good for its own session', async () => {
    const [one, other] = [await place.begin(place.withForm), await place.begin(place.withForm)];
    const rows = JSON.stringify(
      await place.api.deps.db
        .selectFrom('connectSessions')
        .selectAll()
        .where('orgId', '=', orgScope(place.org.orgId).orgId)
        .execute(),
    );
    await view(one.token);
    for (const secret of [one.token, one.token.slice(30)]) {
      expect(rows).not.toContain(secret);
      expect(place.api.logLines.join('')).not.toContain(secret);
    }
    expect((await view(one.token)).id).toBe(one.id);
    const swapped = one.token.slice(0, 30) + other.token.slice(30);
    const nobody = `cst_${newId('cse').slice(4)}${one.token.slice(30)}`;
    for (const token of [swapped, nobody, one.token.slice(0, -1), `${one.token}x`, '', one.id]) {
      expect((await place.as(token, 'GET', '/connect')).status).toBe(401);
    }
  });
});
