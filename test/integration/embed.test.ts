import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { decodeJwt, decodeProtectedHeader, type JWTHeaderParameters, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/api/routes/index.ts';
import { newId } from '../../src/core/ids.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createActiveConnection, createConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

const path = '/embed/connection';
const issuer = 'http://localhost:3100';
const newKey = (id: string) => ({ id, key: randomBytes(32) });
const [current, previous, stranger] = [newKey('e2'), newKey('e1'), newKey('e2')];

let api: TestApi;
let org: TestOrg;
let connectionId: string;

beforeAll(async () => {
  api = await startApi({ embed: { keys: [current, previous], issuer } });
  org = await api.newOrg();
  await publishSpec(org);
  connectionId = await createConnection(org);
});
afterAll(() => api[Symbol.asyncDispose]());

const mint = (body: object) => org.call('POST', '/tokens/embed', { body });
const tokenFor = async (id = connectionId): Promise<string> => (await mint({ connectionId: id })).body.token;
const read = (token: string, headers: Readonly<Record<string, string>> = {}) =>
  org.call('GET', path, { apiKey: null, headers: { 'x-service-embed-token': token, ...headers } });

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** A token like ours but for the changes; a claim that is undefined is left out. */
function forge({
  claims = {},
  header = {},
  key = current.key,
}: {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Partial<JWTHeaderParameters>;
  readonly key?: Uint8Array;
}): Promise<string> {
  const iat = nowSeconds();
  const ours = { iss: issuer, aud: 'embed', sub: connectionId, org: org.orgId, iat, exp: iat + 900, jti: 'j' };
  return new SignJWT({ ...ours, ...claims })
    .setProtectedHeader({ alg: 'HS256', typ: 'embed+jwt', kid: current.id, ...header })
    .sign(key);
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('POST /tokens/embed', () => {
  it('mints a token for one connection, good for 900 s by default', async () => {
    const { status, body, headers } = await mint({ connectionId });
    expect(status).toBe(200);
    expect(decodeProtectedHeader(body.token)).toEqual({ alg: 'HS256', typ: 'embed+jwt', kid: current.id });
    const { exp, iat, ...claims } = decodeJwt(body.token);
    expect(claims).toEqual({
      iss: issuer,
      aud: 'embed',
      sub: connectionId,
      org: org.orgId,
      jti: expect.stringMatching(/.{16}/),
      scopes: ['read'],
    });
    expect([body.expiresAt, Number(exp) - Number(iat)]).toEqual([exp, 900]);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it.each([1, 3600])('lets it live for %d s', async (ttlSeconds) => {
    const { body } = await mint({ connectionId, ttlSeconds });
    expect(body.expiresAt - nowSeconds()).toBeGreaterThanOrEqual(ttlSeconds - 10);
    expect(body.expiresAt - nowSeconds()).toBeLessThanOrEqual(ttlSeconds);
  });

  it.each([0, -1, 3601, 1.5, '900', null])('refuses a life of %j', async (ttlSeconds) => {
    expect(await mint({ connectionId, ttlSeconds })).toMatchObject({
      status: 400,
      body: { error: { code: 'validation', issues: [{ path: 'ttlSeconds' }] } },
    });
  });

  it('responds with 404 for a connection of another org, of nobody, and for what is no id', async () => {
    const other = await api.newOrg();
    await publishSpec(other);
    for (const id of [await createConnection(other), newId('con'), 'abc']) {
      expect(await mint({ connectionId: id })).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
  });

  it('responds with 500 where embed tokens are not configured, and the read 401', async () => {
    await using unset = await startApi({ embed: { keys: null } });
    const unsetOrg = await unset.newOrg();
    await publishSpec(unsetOrg);
    const body = { connectionId: await createConnection(unsetOrg) };
    expect(await unsetOrg.call('POST', '/tokens/embed', { body })).toMatchObject({
      status: 500,
      body: { error: { code: 'internal' } },
    });
    const headers = { 'x-service-embed-token': await tokenFor() };
    expect((await unsetOrg.call('GET', path, { apiKey: null, headers })).status).toBe(401);
    expect((await unsetOrg.call('GET', '/api/health/ready')).status).toBe(200);
  });

  it('leaves no token in the log', async () => {
    const token = await tokenFor();
    await read(token);
    const lines = api.logLines.join('');
    expect(lines).toContain(path);
    expect(lines).not.toContain(token.split('.')[2]);
  });
});

describe('GET /embed/connection', () => {
  it('gives the freshness of the connection of the token, as an API key gets it', async () => {
    const { status, body } = await read(await tokenFor());
    expect(status).toBe(200);
    expect(body).toEqual((await org.call('GET', `/connections/${connectionId}/freshness`)).body);
    expect(body.connection.id).toBe(connectionId);
  });

  it('takes tokens of a key that is on its way out', async () => {
    const token = await forge({ key: previous.key, header: { kid: previous.id } });
    expect((await read(token)).status).toBe(200);
  });

  it.each<[string, () => Promise<string> | string]>([
    ['is empty', () => ''],
    ['is no token', () => 'a.b.c'],
    ['is an API key', () => org.apiKey],
    ['is over', () => forge({ claims: { iat: nowSeconds() - 100, exp: nowSeconds() - 10 } })],
    ['never ends', () => forge({ claims: { exp: undefined } })],
    ['lives for more than an hour', () => forge({ claims: { exp: nowSeconds() + 3700 } })],
    ['has no time of issue', () => forge({ claims: { iat: undefined } })],
    ['names no connection', () => forge({ claims: { sub: undefined } })],
    ['names no org', () => forge({ claims: { org: undefined } })],
    ['names an org that is no text', () => forge({ claims: { org: [org.orgId] } })],
    ['is of another issuer', () => forge({ claims: { iss: 'https://elsewhere.example' } })],
    ['is for another audience', () => forge({ claims: { aud: 'oauth-state' } })],
    ['is of another type', () => forge({ header: { typ: 'oauth-state+jwt' } })],
    ['has no type', () => forge({ header: { typ: undefined as unknown as string } })],
    ['is signed by another key under a known id', () => forge({ key: stranger.key })],
    ['names a key that we do not have', () => forge({ header: { kid: 'e9' } })],
    ['names no key', () => forge({ header: { kid: undefined as unknown as string } })],
    ['is signed with another algorithm', () => forge({ header: { alg: 'HS512' }, key: Buffer.alloc(64, 1) })],
    ['is not signed', async () => `${part({ alg: 'none', typ: 'embed+jwt' })}.${(await tokenFor()).split('.')[1]}.`],
    ['lacks the end of its signature', async () => (await tokenFor()).slice(0, -1)],
    [
      'had its connection swapped',
      async () => {
        const [head, , signature] = (await tokenFor()).split('.');
        return `${head}.${part({ ...decodeJwt(await tokenFor()), sub: newId('con') })}.${signature}`;
      },
    ],
  ])('responds with 401 to a token that %s', async (_name, token) => {
    const reply = await read(await token());
    caseFigure('forgedEmbedTokens', reply.status !== 401);
    expect(reply).toMatchObject({
      status: 401,
      body: { error: { code: 'unauthorized', message: expect.stringContaining('x-service-embed-token') } },
    });
  });

  it('responds with 401 to a request without a token, whatever else it carries', async () => {
    const token = await tokenFor();
    const attempts = [
      org.call('GET', path),
      org.call('GET', `${path}?token=${token}&x-service-embed-token=${token}`, { apiKey: null }),
      org.call('GET', path, { apiKey: token }),
      org.call('GET', path, { apiKey: null, headers: { cookie: `x-service-embed-token=${token}` } }),
    ];
    for (const attempt of attempts) expect((await attempt).status).toBe(401);
  });

  it('sees nothing but its one connection', async () => {
    const token = await tokenFor();
    const other = await createConnection(org);
    const headers = { 'x-service-embed-token': token };
    const { body } = await org.call('GET', `${path}?connectionId=${other}`, { apiKey: null, headers });
    expect(body.connection.id).toBe(connectionId);
    for (const { method, path: address } of routes.filter(({ auth }) => auth === 'api_key')) {
      const real = address.replace(':id', connectionId).replace(/:\w+/g, 'x');
      const reply = await org.call(method.toUpperCase(), real, { apiKey: null, headers });
      expect([address, reply.status]).toEqual([address, 401]);
    }
  });

  it('responds with 404 once the connection is deleted, and to a connection of another org', async () => {
    const gone = await createConnection(org);
    const token = await tokenFor(gone);
    expect((await read(token)).status).toBe(200);
    await org.call('DELETE', `/connections/${gone}`);
    const foreign = await forge({ claims: { org: (await api.newOrg()).orgId } });
    for (const each of [token, foreign]) {
      expect(await read(each)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
  });
});

describe('pages of other origins', () => {
  const origin = 'https://app.example.com';
  const corsOf = (headers: Headers) => [...headers].filter(([name]) => name.startsWith('access-control-'));
  const preflight = (address: string, from = origin, app = api.app) =>
    app.request(address, {
      method: 'OPTIONS',
      headers: {
        origin: from,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-service-embed-token',
      },
    });

  it('may read the embedded connection, its errors too, and the preflight says so', async () => {
    const replies = [await read(await tokenFor(), { origin }), await read('', { origin })];
    expect(replies.map(({ status }) => status)).toEqual([200, 401]);
    for (const { headers } of replies) {
      expect(corsOf(headers)).toEqual([['access-control-allow-origin', '*']]);
      expect(headers.get('cache-control')).toBe('no-store');
    }
    const allowed = await preflight(`/api/v1${path}`);
    expect(allowed.status).toBe(204);
    expect(Object.fromEntries(corsOf(allowed.headers))).toEqual({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': 'x-service-embed-token',
      'access-control-max-age': '600',
    });
  });

  it('may read nothing else', async () => {
    const others = [...routes.filter(({ auth }) => auth !== 'embed_token').map((route) => `/api/v1${route.path}`), '/'];
    for (const address of [...others, '/api/health', '/api/openapi.json', '/embed/freshness.js']) {
      const replies = [await preflight(address), await api.app.request(address, { headers: { origin } })];
      for (const { headers } of replies) expect([address, corsOf(headers)]).toEqual([address, []]);
    }
    const posted = await org.call('POST', path, { headers: { origin } });
    expect([posted.status, corsOf(posted.headers)]).toEqual([405, []]);
  });

  it('may do so from the configured origins only', async () => {
    await using limited = await startApi({ embed: { allowedOrigins: [origin, 'https://b.example'] } });
    const allowedTo = async (from: string) => {
      const { headers } = await preflight(`/api/v1${path}`, from, limited.app);
      expect(headers.get('vary')).toContain('Origin');
      return headers.get('access-control-allow-origin');
    };
    expect(await allowedTo(origin)).toBe(origin);
    expect(await allowedTo('https://b.example')).toBe('https://b.example');
    expect(await allowedTo('https://app.example.com.evil.example')).toBeNull();
  });
});

describe('GET /embed/freshness.js', () => {
  const get = (headers: Readonly<Record<string, string>> = {}) => api.app.request('/embed/freshness.js', { headers });

  it('is a script that any page may load and a browser may keep', async () => {
    const { status, headers } = await get();
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=3600',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      etag: expect.stringMatching(/^"[\w-]{43}"$/),
    });
  });

  it('is sent as gzip to whoever takes it, as small as its guide says', async () => {
    const plain = Buffer.from(await (await get()).arrayBuffer());
    const zipped = await get({ 'accept-encoding': 'br, gzip;q=0.8' });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(zipped.headers.get('vary')).toContain('accept-encoding');
    const sent = Buffer.from(await zipped.arrayBuffer());
    expect(gunzipSync(sent)).toEqual(plain);
    expect((await get({ 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding')).toBeNull();
    const guide = readFileSync('docs/widget.md', 'utf8');
    const [, whole, loaded] = /It has (\d+) kB, of which a browser loads (\d+) kB/.exec(guide) ?? [];
    expect([plain, sent].map(({ length }) => Math.round(length / 1000))).toEqual([Number(whole), Number(loaded)]);
  });

  it('is not sent again to a browser that has it', async () => {
    const etag = (await get()).headers.get('etag') ?? '';
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const reply = await get({ 'if-none-match': known });
      expect([reply.status, await reply.text(), reply.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await get({ 'if-none-match': '"other"' })).status).toBe(200);
  });
});

describe('the scopes of an embed token', () => {
  const act = async (token: string, what: string) =>
    await org.call('POST', `${path}/${what}`, { apiKey: null, headers: { 'x-service-embed-token': token } });
  const tokenWith = async (id: string, ...scopes: readonly string[]): Promise<string> =>
    (await mint({ connectionId: id, scopes })).body.token;

  it('decide what it does, and the refusal names the one that is missing', async () => {
    const id = await createActiveConnection(org);
    const needed = { sync: 'sync', pause: 'pause', resume: 'pause', reauthorize: 'reauthorize' };
    for (const [what, scope] of Object.entries(needed)) {
      const others = ['sync', 'pause', 'reauthorize'].filter((one) => one !== scope);
      for (const token of [await tokenFor(id), await tokenWith(id, ...others), await tokenWith(id, 'read')]) {
        const reply = await act(token, what);
        expect(reply).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
        expect(reply.body.error.message).toContain(`"${scope}"`);
        expect((await read(token)).status).toBe(200);
      }
    }
    const before = { iss: issuer, scopes: undefined };
    expect((await act(await forge({ claims: { ...before, sub: id } }), 'sync')).status).toBe(403);
    expect(await mint({ connectionId: id, scopes: ['delete'] })).toMatchObject({ status: 400 });
  });

  it('let a customer sync what is not syncing, pause, and go on', async () => {
    const id = await createActiveConnection(org);
    const token = await tokenWith(id, 'sync', 'pause');
    expect(await act(token, 'sync')).toMatchObject({ status: 202, body: { runs: [{ resourceKey: 'items' }] } });
    expect(await act(token, 'sync')).toMatchObject({ status: 202, body: { runs: [] } });
    expect(await act(token, 'pause')).toMatchObject({ status: 200, body: { connection: { status: 'paused' } } });
    expect(await act(token, 'sync')).toMatchObject({ status: 409 });
    expect(await act(token, 'resume')).toMatchObject({ status: 200, body: { connection: { status: 'active' } } });
    const pending = await createConnection(org);
    const other = await tokenWith(pending, 'sync', 'pause');
    for (const what of ['sync', 'pause', 'resume']) expect((await act(other, what)).status).toBe(409);
  });

  it('open a connect session for its connection alone', async () => {
    const id = await createActiveConnection(org);
    const nothing = await act(await tokenWith(id, 'reauthorize'), 'reauthorize');
    expect(nothing).toMatchObject({ status: 409 });
    await api.deps.db
      .updateTable('connections')
      .set({ customerParams: ['apiKey'] })
      .where('id', '=', id)
      .execute();
    const { status, body } = await act(await tokenWith(id, 'reauthorize'), 'reauthorize');
    expect(status).toBe(201);
    const { body: sessions } = await org.call('GET', '/connect-sessions');
    expect(sessions[0]).toMatchObject({ connectionId: id, state: 'open' });
    expect(body.url).toContain(`/connect/${sessions[0].id}#cst_`);
  });
});
