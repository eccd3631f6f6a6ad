import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../src/console/pages/index.ts';
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

/** The same for every org. */
const ofNoOrg = ['get /catalogue/:key', 'post /catalogue/:key'];

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
  'get /connections/:id/runs': byConnection('/runs'),
  'get /connections/:id/quarantine': byConnection('/quarantine'),
  'get /connections/:id/hooks': byConnection('/hooks'),
  'get /connections/:id/settings': byConnection('/settings'),
  'get /connections/:id/record': byConnection('/record?resource=items&key=7'),
  'get /connections/:id/edit': byConnection('/edit'),
  'post /connections/:id/edit': byConnection('/edit', { displayName: 'ours now' }),
  'post /connections/:id/check-edit': byConnection('/check-edit', { displayName: 'ours now' }),
  'post /connections/:id/sync': byConnection('/sync', { resource: 'items' }),
  'post /connections/:id/backfill': byConnection('/backfill', { resource: 'items' }),
  'post /connections/:id/test': byConnection('/test'),
  'post /connections/:id/activate': byConnection('/activate'),
  'post /connections/:id/connect-session': byConnection('/connect-session'),
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
    expect([...Object.keys(cases), ...ofNoOrg].toSorted()).toEqual(withIds.toSorted());
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
  const connectionOf = (foreign: FormFields): FormFields => ({
    specKey: ourThings.specKey,
    specVersion: ourThings.publishedVersion,
    workspaceId: ours.workspaceId,
    displayName: 'Acme',
    ...foreign,
  });
  const filters = [
    ['/runs?connectionId=', () => theirThings.activeConnectionId, newId('con')],
    ['/quarantine?connectionId=', () => theirThings.activeConnectionId, newId('con')],
    ['/quarantine?runId=', () => theirThings.runId, newId('run')],
    ['/deliveries?endpointId=', () => theirThings.endpointId, newId('whe')],
    ['/new-spec?version=1.0.0&from=', () => theirThings.specKey, 'nobodys'],
    ['/new-connection?version=1.0.0&spec=', () => theirThings.specKey, 'nobodys'],
  ] as const;

  it.each(filters)('is a 404 as a filter: %s', async (path, foreign, unknown) => {
    const reply = await us.get(`/console${path}${foreign()}`);
    expect(reply.status).toBe(404);
    expect(words(reply.text)).toBe(words((await us.get(`/console${path}${unknown}`)).text));
  });

  it('is a 404 in a form, and changes nothing', async () => {
    const before = await theirState();
    const forms = [
      ['/quarantine/requeue', { act: 'requeue', 'ids[]': [theirThings.quarantineId] }],
      ['/connections/selected', { act: 'pause', 'ids[]': [theirThings.activeConnectionId] }],
      ['/connections/selected', { act: 'sync', 'ids[]': [theirThings.activeConnectionId] }],
      ['/connections/selected', { act: 'activate', 'ids[]': [theirThings.connectionId] }],
      ['/runs/selected', { act: 'cancel', 'ids[]': [theirThings.runId] }],
      ['/runs/selected', { act: 'replay', 'ids[]': [theirThings.runId] }],
      ['/deliveries/selected', { act: 'redeliver', 'ids[]': [theirThings.deliveryId] }],
      ['/quarantine/requeue-all', { connectionId: theirThings.activeConnectionId }],
      ['/connections', connectionOf({ specKey: theirThings.specKey })],
      ['/connections', connectionOf({ workspaceId: theirs.workspaceId })],
    ] as const;
    for (const [path, form] of forms) expect((await us.post(`/console${path}`, form)).status).toBe(404);
    expect(await theirState()).toEqual(before);
  });

  it('is refused among ours, which are done: each says why', async () => {
    const before = await theirState();
    const ids = [ourThings.deliveryId, theirThings.deliveryId];
    const { text, status } = await us.post('/console/deliveries/selected', { act: 'redeliver', 'ids[]': ids });
    expect(status).toBe(200);
    expect(text).toContain('1 of 2 attempts worked');
    expect(text).toContain('Webhook delivery not found');
    expect(await theirState()).toEqual(before);
  });

  it('is not found by the search, and neither are names and keys', async () => {
    const ids = Object.values(theirThings).filter((value) => value.includes('_'));
    for (const text of ['theirs', ...ids, theirs.orgId]) {
      const q = encodeURIComponent(text);
      expect((await us.get(`/console/find-results?q=${q}`)).text).toBe('[]');
      expect((await us.get(`/console/find?q=${q}`)).text).toContain('Nothing is found');
    }
    const { text } = await us.get('/console/find-results?q=7');
    expect(text).toContain(ourThings.activeConnectionId);
    expect(text).not.toContain(theirThings.activeConnectionId);
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
