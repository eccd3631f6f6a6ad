import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../src/console/pages/index.ts';
import { absoluteSeconds, idleSeconds } from '../../src/console/session.ts';
import { parseApiKey } from '../../src/core/crypto/api-key.ts';
import { signToken } from '../../src/core/crypto/signed-token.ts';
import { newId } from '../../src/core/ids.ts';
import { type ConsoleClient, type FormFields, openConsole } from '../support/console/console-client.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { fillOrg, type Inventory } from '../support/upstream/api-fixtures.ts';

/** A page or action with ids of an org in its path, and the same with ids that nobody has. */
interface Addresses {
  readonly real: (theirs: Inventory) => string;
  readonly unknown: string;
  /** A form that passes the checks before existence. */
  readonly form?: FormFields;
}

const by =
  (folder: string, id: keyof Inventory, unknownId: string) =>
  (rest = '', form: FormFields = {}): Addresses => ({
    real: (theirs) => `/${folder}/${theirs[id]}${rest}`,
    unknown: `/${folder}/${unknownId}${rest}`,
    form,
  });
const byConnection = by('connections', 'activeConnectionId', newId('con'));
const byRun = by('runs', 'runId', newId('run'));
const byQuarantined = by('quarantine', 'quarantineId', newId('quar'));
const byEndpoint = by('endpoints', 'endpointId', newId('whe'));
const byDelivery = by('deliveries', 'deliveryId', newId('whd'));
const byHook = by('hooks', 'hookId', newId('hook'));
const bySchedule = by('schedules', 'scheduleId', newId('sched'));
const byVersion = (version: 'publishedVersion' | 'draftVersion', rest = '', form: FormFields = {}): Addresses => ({
  real: (theirs) => `/specs/${theirs.specKey}/${theirs[version]}${rest}`,
  unknown: `/specs/nobodys/1.0.0${rest}`,
  form,
});

/** Every route of the console with something of an org in its path; one that is missing here fails the test below. */
const cases: Readonly<Record<string, Addresses>> = {
  'get /connections/:id': byConnection(),
  'post /connections/:id/sync': byConnection('/sync', { resource: 'items' }),
  'post /connections/:id/backfill': byConnection('/backfill', { resource: 'items' }),
  'post /connections/:id/test': byConnection('/test'),
  'post /connections/:id/activate': byConnection('/activate'),
  'post /connections/:id/pause': byConnection('/pause'),
  'post /connections/:id/schedules': byConnection('/schedules', { resource: 'items', cron: '0 * * * *' }),
  'post /connections/:id/hooks': byConnection('/hooks', { 'resourceKeys[]': ['items'], verification: 'github' }),
  'post /schedules/:id/toggle': bySchedule('/toggle', { enabled: 'false' }),
  'post /schedules/:id/delete': bySchedule('/delete'),
  'get /runs/:id': byRun(),
  'post /runs/:id/cancel': byRun('/cancel'),
  'post /runs/:id/replay': byRun('/replay'),
  'get /quarantine/:id': byQuarantined(),
  'post /quarantine/:id/requeue': byQuarantined('/requeue'),
  'get /endpoints/:id': byEndpoint(),
  'post /endpoints/:id/test': byEndpoint('/test'),
  'post /endpoints/:id/toggle': byEndpoint('/toggle', { enabled: 'false' }),
  'post /endpoints/:id/delete': byEndpoint('/delete'),
  'post /endpoints/:id/recover': byEndpoint('/recover', { hours: '24', 'include[]': ['failed'] }),
  'get /recoveries/:id': by('recoveries', 'recoveryId', newId('whr'))(),
  'get /deliveries/:id': byDelivery(),
  'post /deliveries/:id/redeliver': byDelivery('/redeliver'),
  'get /specs/:key': { real: ({ specKey }) => `/specs/${specKey}`, unknown: '/specs/nobodys' },
  'get /specs/:key/compare': {
    real: ({ specKey }) => `/specs/${specKey}/compare?from=1.0.0&to=2.0.0`,
    unknown: '/specs/nobodys/compare?from=1.0.0&to=2.0.0',
  },
  'get /specs/:key/:version': byVersion('publishedVersion'),
  'post /specs/:key/:version': byVersion('draftVersion', '', { document: 'metadata: {}' }),
  'post /specs/:key/:version/publish': byVersion('draftVersion', '/publish'),
  'post /specs/:key/:version/deprecate': byVersion('publishedVersion', '/deprecate'),
  'post /specs/:key/:version/delete': byVersion('draftVersion', '/delete'),
  'get /hooks/:id': byHook(),
  'post /hooks/:id/toggle': byHook('/toggle', { enabled: 'false' }),
  'post /hooks/:id/rotate': byHook('/rotate', { replace: 'url' }),
  'post /hooks/:id/delete': byHook('/delete'),
  'post /api-keys/:id/revoke': by('api-keys', 'keyId', newId('key'))('/revoke'),
};

const name = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`;
const opened = new AsyncDisposableStack();
let api: TestApi;
let ours: TestOrg;
let theirs: TestOrg;
let theirThings: Inventory;
let ourThings: Inventory;
let us: ConsoleClient;
let them: ConsoleClient;

beforeAll(async () => {
  api = opened.use(await startApi());
  [ours, theirs] = [await api.newOrg(), await api.newOrg()];
  theirThings = await fillOrg(api, theirs, 'theirs');
  ourThings = await fillOrg(api, ours, 'ours');
  [us, them] = [await openConsole(api, ours.apiKey), await openConsole(api, theirs.apiKey)];
});
afterAll(() => opened.disposeAsync());

const send = (client: ConsoleClient, route: string, path: string, form: FormFields = {}) =>
  route.startsWith('get') ? client.get(`/console${path}`) : client.post(`/console${path}`, form);
/** Addresses of pages without ids. */
const lists = consoleRoutes
  .filter(({ method, path }) => method === 'get' && !path.includes(':'))
  .map(({ path }) => path);
/** What a page says, without what changes from one session or moment to the next. */
const words = (text: string) =>
  text.replaceAll(/name="form_token" value="[^"]+"/g, '').replaceAll(/<time [^>]*>[^<]*/g, '');

/** All that the other org can see. */
async function theirState(): Promise<unknown> {
  const pages = ['', ...lists, `/connections/${theirThings.activeConnectionId}`, `/hooks/${theirThings.hookId}`];
  const replies = await Promise.all(pages.map((path) => them.get(`/console${path}`)));
  const { body: keys } = await theirs.call('GET', '/api-keys');
  const revoked = keys.filter(({ revokedAt }: { revokedAt: string | null }) => revokedAt !== null).length;
  return [...replies.slice(1).map(({ text }) => words(text)), revoked];
}

describe('every route of the console', () => {
  const all = consoleRoutes.map(name);

  it.each(all)('asks for a session first: %s', async (route) => {
    const path = `/console${route.split(' ')[1]?.replace(/:\w+/g, 'x')}`;
    const isGet = route.startsWith('get');
    const reply = isGet ? await us.get(path, { cookie: '' }) : await us.post(path, {}, { cookie: '' });
    expect(reply.status).toBe(303);
    expect(reply.headers.get('location')).toMatch(/^\/console\/sign-in/);
  });

  it('with something of an org in its path has a case here', () => {
    const withIds = consoleRoutes.filter(({ path }) => path.includes(':')).map(name);
    expect(Object.keys(cases).toSorted()).toEqual(withIds.toSorted());
  });

  it.each(Object.keys(cases))(
    'responds with 404 to another org as to nobody’s id, and changes nothing: %s',
    async (route) => {
      const { real, unknown, form } = cases[route] ?? { real: () => '', unknown: '' };
      const before = await theirState();
      const foreign = await send(us, route, real(theirThings), form);
      const absent = await send(us, route, unknown, form);
      const after = await theirState();
      const isBroken = foreign.status !== 404 || words(foreign.text) !== words(absent.text);
      caseFigure('crossOrg', isBroken || JSON.stringify(after) !== JSON.stringify(before));
      expect(foreign.status).toBe(404);
      expect(absent.status).toBe(404);
      expect(words(foreign.text)).toBe(words(absent.text));
      expect(after).toEqual(before);
    },
  );

  it.each(Object.keys(cases).filter((route) => route.startsWith('get')))('shows what is ours: %s', async (route) => {
    const reply = await send(us, route, cases[route]?.real(ourThings) ?? '');
    expect(reply.status).toBe(200);
  });
});

describe('an id of another org outside the path', () => {
  const filters = [
    ['/runs?connectionId=', () => theirThings.activeConnectionId, newId('con')],
    ['/quarantine?connectionId=', () => theirThings.activeConnectionId, newId('con')],
    ['/deliveries?endpointId=', () => theirThings.endpointId, newId('whe')],
    ['/new-spec?version=1.0.0&from=', () => theirThings.specKey, 'nobodys'],
  ] as const;

  it.each(filters)('is a 404 as a filter: %s', async (path, foreign, unknown) => {
    const reply = await us.get(`/console${path}${foreign()}`);
    expect(reply.status).toBe(404);
    expect(words(reply.text)).toBe(words((await us.get(`/console${path}${unknown}`)).text));
  });

  it('is a 404 in a form, and changes nothing', async () => {
    const before = await theirState();
    const connectionId = ourThings.activeConnectionId;
    const forms = [
      ['/quarantine/requeue', { connectionId, 'ids[]': [theirThings.quarantineId] }],
      ['/quarantine/requeue-all', { connectionId: theirThings.activeConnectionId }],
    ] as const;
    for (const [path, form] of forms) expect((await us.post(`/console${path}`, form)).status).toBe(404);
    expect(await theirState()).toEqual(before);
  });

  it('and nothing else of it is in any page', async () => {
    const ids = Object.values(theirThings).filter((value) => value.includes('_'));
    expect(ids.length).toBeGreaterThan(8);
    const pages = [
      '',
      ...lists,
      ...Object.entries(cases).flatMap(([route, one]) => (route.startsWith('get') ? [one.real(ourThings)] : [])),
    ];
    for (const path of pages) {
      const { text, status } = await us.get(`/console${path}`);
      expect(status).toBe(200);
      for (const value of [...ids, theirs.orgId, theirs.workspaceId, 'theirs']) expect(text).not.toContain(value);
    }
  });
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
    expect(reply.headers.get('set-cookie')).toContain('Secure');
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
    'javascript:alert(1)',
  ])('leads to no other place than the console: %s', async (to) => {
    const reply = await us.post('/console/sign-in', { key: ours.apiKey, to }, { cookie: '' });
    const location = new URL(reply.headers.get('location') ?? '', 'http://localhost');
    expect(location.origin).toBe('http://localhost');
    expect(['/console', '/api']).toContain(location.pathname);
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
