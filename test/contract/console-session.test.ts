import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../src/console/pages/index.ts';
import { absoluteSeconds, idleSeconds } from '../../src/console/session.ts';
import { parseApiKey } from '../../src/core/crypto/api-key.ts';
import { signToken } from '../../src/core/crypto/signed-token.ts';
import { type ConsoleClient, openConsole } from '../support/console/console-client.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { fillOrg, type Inventory } from '../support/upstream/api-fixtures.ts';

const resources = new AsyncDisposableStack();
let api: TestApi;
let ours: TestOrg;
let ourThings: Inventory;
let us: ConsoleClient;

beforeAll(async () => {
  api = resources.use(await startApi());
  ours = await api.newOrg();
  ourThings = await fillOrg(api, ours, 'ours');
  us = await openConsole(api, ours.apiKey);
});
afterAll(() => resources.disposeAsync());

const send = (client: ConsoleClient, method: string, path: string) =>
  method === 'get' ? client.get(`/console${path}`) : client.post(`/console${path}`);

it('opens at the address of the service', async () => {
  const { status, headers } = await us.get('/');
  expect([status, headers.get('location')]).toEqual([302, '/console']);
});

describe('a form', () => {
  const pausing = () => `/console/connections/${ourThings.activeConnectionId}/pause`;
  const status = async () => (await ours.call('GET', `/connections/${ourThings.activeConnectionId}`)).body.status;
  beforeEach(async () => {
    await ours.call('POST', `/connections/${ourThings.activeConnectionId}/activate`);
  });

  it.each([
    ['of another origin', { origin: 'https://elsewhere.example' }],
    ['without an origin', { origin: null }],
    ['of a page that hides its origin', { origin: 'null' }],
    ['of another port of the same host', { origin: 'http://localhost:8081' }],
    ['without the value of the session', { formToken: '' }],
    ['with a value of another length', { formToken: 'x'.repeat(500) }],
  ])('is refused and does nothing: %s', async (_name, options) => {
    expect((await us.post(pausing(), {}, options)).status).toBe(401);
    expect(await status()).toBe('active');
  });

  it.each(consoleRoutes.filter(({ method }) => method === 'post').map(({ path }) => path))(
    'is refused without an origin, and without the value of the session: %s',
    async (path) => {
      const address = `/console${path.replace(/:\w+/g, 'x')}`;
      expect((await us.post(address, {}, { origin: null })).status).toBe(401);
      expect((await us.post(address, {}, { formToken: us.formToken.replace(/./, '*') })).status).toBe(401);
    },
  );

  it('with the value of another session is refused', async () => {
    const other = await openConsole(api, ours.apiKey);
    expect((await us.post(pausing(), {}, { formToken: other.formToken })).status).toBe(401);
    expect(await status()).toBe('active');
  });

  it('of the console does its work and leads on', async () => {
    const reply = await us.post(pausing());
    expect(reply.status).toBe(303);
    expect(await status()).toBe('paused');
  });

  it('is accepted from the public address behind a proxy', async () => {
    expect((await us.post(pausing(), {}, { origin: 'http://localhost:3100' })).status).toBe(303);
  });
});

describe('a session', () => {
  const now = () => Math.floor(Date.now() / 1000);
  const kind = { type: 'console-session+jwt', audience: 'console', issuer: 'http://localhost:3100' };
  const cookieOf = async (claims: object, { ttlSeconds = 600, ring = api.deps.console.sessionKeys } = {}) =>
    `console_session=${await signToken(ring, kind, {
      claims: { sub: parseApiKey(ours.apiKey) ?? '', form: 'a-token', opened: now(), ...claims },
      ttlSeconds,
    })}`;
  const isOpen = async (cookie: string) => (await us.get('/console/runs', { cookie })).status === 200;

  it('is a cookie that scripts and other sites cannot use', async () => {
    const body = new URLSearchParams({ key: ours.apiKey }).toString();
    const headers = { origin: 'http://localhost', 'content-type': 'application/x-www-form-urlencoded' };
    const reply = await api.app.request('/console/sign-in', { method: 'POST', headers, body });
    const cookie = reply.headers.get('set-cookie') ?? '';
    for (const part of ['HttpOnly', 'SameSite=Strict', 'Path=/console', `Max-Age=${idleSeconds}`])
      expect(cookie).toContain(part);
    expect(cookie).not.toContain(ours.apiKey);
    expect(cookie).not.toContain('Secure');
  });

  it('is sent over https only where the console is reached that way', async () => {
    await using secure = await startApi({ publicUrl: 'https://sync.example' });
    const org = await secure.newOrg();
    const body = new URLSearchParams({ key: org.apiKey }).toString();
    const headers = { origin: 'https://sync.example', 'content-type': 'application/x-www-form-urlencoded' };
    const reply = await secure.app.request('/console/sign-in', { method: 'POST', headers, body });
    expect(reply.headers.get('set-cookie')).toMatch(/^__Host-console_session=.*; Path=\/; .*Secure/);
  });

  it('counts while it is fresh, and is over after an hour without use and twelve hours in any case', async () => {
    expect(await isOpen(await cookieOf({}))).toBe(true);
    expect(await isOpen(await cookieOf({}, { ttlSeconds: -1 }))).toBe(false);
    expect(await isOpen(await cookieOf({ opened: now() - absoluteSeconds + 60 }))).toBe(true);
    expect(await isOpen(await cookieOf({ opened: now() - absoluteSeconds }))).toBe(false);
  });

  it('is prolonged by a person, to its end at most, and not by the script', async () => {
    const old = await signedAt(now() - 600);
    const used = await us.get('/console/runs', { cookie: old });
    expect(used.headers.get('set-cookie')).toContain(`Max-Age=${idleSeconds}`);
    const refreshed = await us.get('/console/runs', { cookie: old, 'x-console-refresh': '1' });
    expect(refreshed.status).toBe(200);
    expect(refreshed.headers.get('set-cookie')).toBeNull();
    const last = await us.get('/console/runs', { cookie: await signedAt(now() - 600, now() - absoluteSeconds + 100) });
    expect(Number(/Max-Age=(\d+)/.exec(last.headers.get('set-cookie') ?? '')?.[1])).toBeLessThanOrEqual(100);
  });

  /** A cookie that was made then. */
  async function signedAt(iat: number, opened = iat): Promise<string> {
    const { SignJWT } = await import('jose');
    const [key] = api.deps.console.sessionKeys;
    if (!key) throw new Error('There is a key.');
    const token = await new SignJWT({ sub: parseApiKey(ours.apiKey) ?? '', form: 'a-token', opened, iss: kind.issuer })
      .setProtectedHeader({ alg: 'HS256', typ: kind.type, kid: key.id })
      .setAudience(kind.audience)
      .setIssuedAt(iat)
      .setExpirationTime(now() + 1000)
      .sign(key.key);
    return `console_session=${token}`;
  }

  it.each([
    ['altered', async () => `${us.cookie.slice(0, -2)}xx`],
    ['signed by another key', () => cookieOf({}, { ring: [{ id: 'c1', key: new Uint8Array(32) }] })],
    ['of a key that nobody has', () => cookieOf({ sub: 'x'.repeat(12) })],
    ['without a signature', async () => `console_session=${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`],
    ['empty', async () => 'console_session='],
  ])('that is %s does not count', async (_name, cookie) => {
    expect(await isOpen(await cookie())).toBe(false);
  });

  it('ends with its key', async () => {
    const { body } = await ours.call('POST', '/api-keys');
    const client = await openConsole(api, body.key);
    expect((await client.get('/console/runs')).status).toBe(200);
    await ours.call('DELETE', `/api-keys/${body.id}`);
    const reply = await client.get('/console/runs');
    expect(reply.status).toBe(303);
    expect(reply.headers.get('location')).toBe('/console/sign-in?to=%2Fconsole%2Fruns');
    expect((await client.post(`/console/connections/${ourThings.activeConnectionId}/pause`)).status).toBe(303);
  });

  it('ends with its key on every page and for every form', async () => {
    const { body: revoked } = await ours.call('POST', '/api-keys');
    const { body: expired } = await ours.call('POST', '/api-keys');
    const clients = [await openConsole(api, revoked.key), await openConsole(api, expired.key)];
    await ours.call('DELETE', `/api-keys/${revoked.id}`);
    const past = new Date(Date.now() - 1000).toISOString();
    await api.deps.db.updateTable('apiKeys').set({ expiresAt: past }).where('id', '=', expired.id).execute();
    for (const client of clients) {
      for (const { method, path } of consoleRoutes) {
        const address = path.replace(/:\w+/g, 'x');
        expect([method, path, (await send(client, method, address)).status]).toEqual([method, path, 303]);
      }
    }
  });

  it('ends when its person signs out', async () => {
    const reply = await us.post('/console/sign-out');
    expect(reply.headers.get('set-cookie')).toMatch(/^console_session=; Max-Age=0/);
    expect((await us.post('/console/sign-out', {}, { origin: 'https://elsewhere.example' })).status).toBe(401);
  });

  it.each(['', 'ck_wrong', 'x'.repeat(5000), '\0', 'ck_'.padEnd(53, 'a')])(
    'is not opened by a wrong key: %j',
    async (key) => {
      const reply = await us.post('/console/sign-in', { key }, { cookie: '' });
      expect([400, 401]).toContain(reply.status);
      expect(reply.headers.get('set-cookie')).toBeNull();
      expect(reply.text).not.toContain('at Object');
    },
  );

  it.each([
    'https://elsewhere.example',
    '//elsewhere.example',
    '/console//elsewhere.example',
    '/consolex',
    '/console/../api',
    '/console/%2e%2e/api',
    String.raw`/\elsewhere.example`,
    'javascript:alert(1)',
  ])('leads to no other place than the console: %s', async (to) => {
    const reply = await us.post('/console/sign-in', { key: ours.apiKey, to }, { cookie: '' });
    const location = new URL(reply.headers.get('location') ?? '', 'http://localhost');
    expect(location.origin).toBe('http://localhost');
    expect(location.pathname).toBe('/console');
  });

  it('leads to where it was going, and line breaks in there are no headers', async () => {
    const to = '/console/runs?status=failed\r\nx-more: 1';
    const reply = await us.post('/console/sign-in', { key: ours.apiKey, to }, { cookie: '' });
    expect(reply.status).toBe(303);
    expect(reply.headers.get('location')).toBe('/console/runs?status=failedx-more:%201');
  });

  it('is asked for again from here when a link of another site leads here', async () => {
    const reply = await us.get('/console/runs?status=failed', { cookie: '', 'sec-fetch-site': 'cross-site' });
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('content="0; url=/console/runs?status=failed"');
  });
});

describe('a response of the console', () => {
  it('allows nothing but its own files, and no frame around it', async () => {
    const { headers, text } = await us.get('/console');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|data:/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text).not.toMatch(/<script(?! src=)|<style|\sstyle=|\son\w+=/);
  });

  it('is a page of its own for what does not exist, and for other methods', async () => {
    for (const path of ['/console/nothing', '/console/runs/x/y', '/console/assets/x.js']) {
      const reply = await us.get(path);
      expect(reply.status).toBe(404);
      expect(reply.headers.get('content-type')).toContain('text/html');
      expect(reply.text).toContain('<h1>Not found</h1>');
    }
    const wrong = await us.post('/console/runs');
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD');
  });

  it('has at most 80 kB of scripts', async () => {
    const { text } = await us.get('/console');
    const script = /<script src="([^"]+)"/.exec(text)?.[1] ?? '';
    const reply = await us.get(script);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('cache-control')).toContain('immutable');
    expect(reply.text.length).toBeLessThan(80_000);
  });

  it('shows markup in names as text', async () => {
    const displayName = '<img src=x onerror=alert(1)>"\'';
    await ours.call('PATCH', `/connections/${ourThings.activeConnectionId}`, { body: { displayName } });
    for (const path of ['', '/connections', '/runs', `/connections/${ourThings.activeConnectionId}`]) {
      const { text } = await us.get(`/console${path}`);
      expect(text).not.toContain('<img');
      expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;');
    }
  });
});
