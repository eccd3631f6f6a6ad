import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../../src/api/route.ts';
import { routes } from '../../src/api/routes/index.ts';
import { newId } from '../../src/core/ids.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { fillOrg, type Inventory, specDocument } from '../support/upstream/api-fixtures.ts';

/** A path with ids in it, and the same with ids that nobody has. */
interface Addresses {
  readonly real: (theirs: Inventory) => string;
  readonly unknown: string;
  /** A body that passes the checks before existence. */
  readonly body?: unknown;
  /** Instead of 404: the endpoint reads nothing under its id. */
  readonly exempt?: string;
}

const name = ({ method, path }: Pick<Route, 'method' | 'path'>) => `${method} ${path}`;
const byConnection = (rest: string, body?: unknown): Addresses => ({
  real: ({ activeConnectionId }) => `/connections/${activeConnectionId}${rest}`,
  unknown: `/connections/${newId('con')}${rest}`,
  body,
});
const bySchedule = (body?: unknown): Addresses => ({
  real: ({ scheduleId }) => `/schedules/${scheduleId}`,
  unknown: `/schedules/${newId('sched')}`,
  body,
});
const byHook = (rest = '', body?: unknown): Addresses => ({
  real: ({ hookId }) => `/hooks/${hookId}${rest}`,
  unknown: `/hooks/${newId('hook')}${rest}`,
  body,
});
const byRun = (rest: string): Addresses => ({
  real: ({ runId }) => `/runs/${runId}${rest}`,
  unknown: `/runs/${newId('run')}${rest}`,
});
const byEndpoint = (rest: string, body?: unknown): Addresses => ({
  real: ({ endpointId }) => `/webhook-endpoints/${endpointId}${rest}`,
  unknown: `/webhook-endpoints/${newId('whe')}${rest}`,
  body,
});
const byOauthApp = (body?: unknown): Addresses => ({
  real: ({ oauthAppId }) => `/oauth-apps/${oauthAppId}`,
  unknown: `/oauth-apps/${newId('oap')}`,
  body,
});
const bySession = (): Addresses => ({
  real: ({ sessionId }) => `/connect-sessions/${sessionId}`,
  unknown: `/connect-sessions/${newId('cse')}`,
});
const byDelivery = (rest: string): Addresses => ({
  real: ({ deliveryId }) => `/webhook-deliveries/${deliveryId}${rest}`,
  unknown: `/webhook-deliveries/${newId('whd')}${rest}`,
});
const byVersion = (version: 'publishedVersion' | 'draftVersion', rest = '', body?: unknown): Addresses => ({
  real: (theirs) => `/specs/${theirs.specKey}/versions/${theirs[version]}${rest}`,
  unknown: `/specs/nobodys/versions/1.0.0${rest}`,
  body,
});

/** Every endpoint with something of an org in its path; one that is missing here fails the test below. */
const cases: Readonly<Record<string, Addresses>> = {
  'get /catalogue/:key': { real: () => '', unknown: '', exempt: 'the same for every org' },
  'post /specs/:key/validate': { real: () => '', unknown: '', exempt: 'validates the body; nothing is read' },
  'post /specs/:key/versions/:version/publish': byVersion('draftVersion', '/publish'),
  'post /specs/:key/versions/:version/deprecate': byVersion('publishedVersion', '/deprecate'),
  'get /specs/:key/versions': {
    real: ({ specKey }) => `/specs/${specKey}/versions`,
    unknown: '/specs/nobodys/versions',
  },
  'get /specs/:key/versions/:version': byVersion('publishedVersion'),
  'put /specs/:key/versions/:version': byVersion('draftVersion', '', 'their document'),
  'delete /specs/:key/versions/:version': byVersion('draftVersion'),
  'get /connections/:id': byConnection(''),
  'post /connections/:id/sync': byConnection('/sync', { resource: 'items' }),
  'post /connections/:id/backfill': byConnection('/backfill', { resource: 'items' }),
  'post /connections/:id/test': byConnection('/test'),
  'post /connections/:id/activate': byConnection('/activate'),
  'post /connections/:id/pause': byConnection('/pause'),
  'post /connections/:id/upgrade-spec': byConnection('/upgrade-spec', { toVersion: '1.0.0' }),
  'get /connections/:id/freshness': byConnection('/freshness'),
  'patch /connections/:id': byConnection('', { displayName: 'Ours' }),
  'delete /connections/:id': byConnection(''),
  'get /connections/:id/schedules': byConnection('/schedules'),
  'post /connections/:id/schedules': byConnection('/schedules', { resourceKey: 'items', cron: '0 * * * *' }),
  'patch /schedules/:id': bySchedule({ enabled: false }),
  'delete /schedules/:id': bySchedule(),
  'get /connections/:id/hooks': byConnection('/hooks'),
  'post /connections/:id/hooks': byConnection('/hooks', { resourceKeys: ['items'], verification: { kind: 'none' } }),
  'get /hooks/:id': byHook(),
  'patch /hooks/:id': byHook('', { enabled: false }),
  'delete /hooks/:id': byHook(),
  'post /hooks/:id/rotate': byHook('/rotate', { replace: ['url', 'secret'] }),
  'get /hooks/:id/requests': byHook('/requests'),
  'get /runs/:id': byRun(''),
  'get /runs/:id/calls': byRun('/calls'),
  'post /runs/:id/replay': byRun('/replay'),
  'post /runs/:id/cancel': byRun('/cancel'),
  'get /oauth/:connectionId/authorize': {
    real: ({ activeConnectionId }) => `/oauth/${activeConnectionId}/authorize`,
    unknown: `/oauth/${newId('con')}/authorize`,
  },
  'post /connections/:id/tokens': byConnection('/tokens', { accessToken: 'a-token' }),
  'get /oauth-apps/:id': byOauthApp(),
  'patch /oauth-apps/:id': byOauthApp({ clientSecret: 'ours' }),
  'delete /oauth-apps/:id': byOauthApp(),
  'get /quarantine/:id': {
    real: ({ quarantineId }) => `/quarantine/${quarantineId}`,
    unknown: `/quarantine/${newId('quar')}`,
  },
  'post /quarantine/:id/requeue': {
    real: ({ quarantineId }) => `/quarantine/${quarantineId}/requeue`,
    unknown: `/quarantine/${newId('quar')}/requeue`,
  },
  'delete /api-keys/:id': {
    real: ({ keyId }) => `/api-keys/${keyId}`,
    unknown: `/api-keys/${newId('key')}`,
  },
  'get /webhook-deliveries/:id': byDelivery(''),
  'post /webhook-deliveries/:id/redeliver': byDelivery('/redeliver'),
  'get /webhook-endpoints/:id': byEndpoint(''),
  'patch /webhook-endpoints/:id': byEndpoint('', { description: 'Ours' }),
  'delete /webhook-endpoints/:id': byEndpoint(''),
  'post /webhook-endpoints/:id/rotate-secret': byEndpoint('/rotate-secret'),
  'post /webhook-endpoints/:id/test': byEndpoint('/test'),
  'post /webhook-endpoints/:id/recover': byEndpoint('/recover', {
    since: new Date().toISOString(),
    include: ['failed'],
  }),
  'get /webhook-endpoints/:id/stats': byEndpoint('/stats'),
  'get /connect-sessions/:id': bySession(),
  'delete /connect-sessions/:id': bySession(),
  'get /webhook-recoveries/:id': {
    real: ({ recoveryId }) => `/webhook-recoveries/${recoveryId}`,
    unknown: `/webhook-recoveries/${newId('whr')}`,
  },
};

/** What each list needs in its query; null: the same for every org. One that is missing here fails the test below. */
const lists: Readonly<Record<string, ((things: Inventory) => string) | null>> = {
  '/specs': () => '',
  '/connections': () => '',
  '/runs': () => '',
  '/quarantine': ({ activeConnectionId }) => `?connectionId=${activeConnectionId}`,
  '/api-keys': () => '',
  '/webhook-deliveries': () => '',
  '/workspaces': () => '',
  '/webhook-endpoints': () => '',
  '/oauth-apps': () => '',
  '/connect-sessions': () => '',
  '/webhook-event-types': null,
  '/catalogue': null,
};

let api: TestApi;
let ours: TestOrg;
let theirs: TestOrg;
let theirThings: Inventory;

beforeAll(async () => {
  api = await startApi();
  [ours, theirs] = [await api.newOrg(), await api.newOrg()];
  theirThings = await fillOrg(api, theirs, 'theirs');
});
afterAll(() => api[Symbol.asyncDispose]());

/** All that the other org can see; a request of ours must not change it. */
async function theirState(): Promise<unknown> {
  const kept = `/quarantine/${theirThings.quarantineId}`;
  const schedules = `/connections/${theirThings.activeConnectionId}/schedules`;
  const hooks = `/connections/${theirThings.activeConnectionId}/hooks`;
  const webhooks = ['/webhook-endpoints', '/webhook-deliveries', `/webhook-recoveries/${theirThings.recoveryId}`];
  const paths = [
    '/specs',
    '/specs/theirs/versions',
    '/connections',
    '/runs',
    '/workspaces',
    '/connect-sessions',
    kept,
    schedules,
    hooks,
    ...webhooks,
  ];
  const replies = await Promise.all(paths.map((path) => theirs.call('GET', path)));
  const { body: keys } = await theirs.call('GET', '/api-keys');
  const revocations = keys.map(({ id, revokedAt }: { id: string; revokedAt: string | null }) => ({ id, revokedAt }));
  return [...replies.map(({ body }) => body), revocations];
}

describe('every endpoint behind an API key', () => {
  it.each(routes.filter(({ auth }) => auth === 'api_key').map(name))(
    'responds with 401 without one: %s',
    async (endpoint) => {
      const [method = '', path = ''] = endpoint.split(' ');
      // With a body that would be refused: the credential is checked first.
      const malformed = method === 'get' ? {} : { body: '{' };
      const address = path.replace(/:\w+/g, 'x');
      const reply = await ours.call(method.toUpperCase(), address, { apiKey: null, ...malformed });
      expect(reply).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } });
    },
  );
});

describe('every endpoint with something of an org in its path', () => {
  const withIds = routes.filter(({ path }) => path.includes(':'));

  it('has a case here', () => {
    expect(Object.keys(cases).toSorted()).toEqual(withIds.map(name).toSorted());
  });

  const checked = withIds.map(name).filter((endpoint) => cases[endpoint]?.exempt === undefined);

  it.each(checked)('responds with 404 to another org as to nobody’s id, and changes nothing: %s', async (endpoint) => {
    const { real, unknown, body } = cases[endpoint] ?? { real: () => '', unknown: '' };
    const method = endpoint.split(' ')[0]?.toUpperCase() ?? '';
    const put = {
      theirs: specDocument({ key: 'theirs', version: '2.0.0' }),
      nobodys: specDocument({ key: 'nobodys' }),
    };
    const isPut = method === 'PUT';
    const before = await theirState();

    const foreign = await ours.call(method, real(theirThings), { body: isPut ? put.theirs : body });
    const absent = await ours.call(method, unknown, { body: isPut ? put.nobodys : body });
    const after = await theirState();

    const tells = !isDeepStrictEqual([foreign.status, foreign.body], [absent.status, absent.body]);
    caseFigure('crossOrg', foreign.status !== 404 || tells || !isDeepStrictEqual(after, before));
    expect(foreign).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    expect(foreign.body).toEqual(absent.body);
    expect(absent.status).toBe(404);
    expect(after).toEqual(before);
  });
});

describe('an id of another org outside the path', () => {
  it('is a 404 as a filter', async () => {
    for (const list of ['/runs', '/quarantine']) {
      const reply = await ours.call('GET', `${list}?connectionId=${theirThings.activeConnectionId}`);
      const absent = await ours.call('GET', `${list}?connectionId=${newId('con')}`);
      expect(reply).toMatchObject({ status: 404, body: absent.body });
    }
  });

  it('is a 404 as the workspace or the spec of a new connection', async () => {
    const body = { specKey: 'theirs', specVersion: '1.0.0', displayName: 'n', params: {}, secrets: {} };
    for (const workspaceId of [theirs.workspaceId, ours.workspaceId]) {
      expect(await ours.call('POST', '/connections', { body: { ...body, workspaceId } })).toMatchObject({
        status: 404,
      });
    }
    expect((await ours.call('GET', '/connections')).body).toEqual([]);
  });

  it('is a 404 as the connection whose quarantined records are tried again', async () => {
    const requeue = (connectionId: string) => ours.call('POST', '/quarantine/requeue', { body: { connectionId } });
    const before = await theirState();
    const foreign = await requeue(theirThings.activeConnectionId);
    expect(foreign.status).toBe(404);
    expect(foreign.body).toEqual((await requeue(newId('con'))).body);
    expect(await theirState()).toEqual(before);
  });

  it('is a 404 as the connection, the workspace or the spec of a connect session, and as the session of a code', async () => {
    const { activeConnectionId: connectionId, sessionId } = theirThings;
    const begin = async (body: object) => (await ours.call('POST', '/connect-sessions', { body })).status;
    expect(await begin({ connectionId })).toBe(404);
    for (const workspaceId of [theirs.workspaceId, ours.workspaceId]) {
      expect(await begin({ workspaceId, specKey: 'theirs' })).toBe(404);
    }
    const body = { sessionId, code: 'x'.repeat(43) };
    const foreign = await ours.call('POST', '/connect-sessions/confirm', { body });
    const absent = await ours.call('POST', '/connect-sessions/confirm', { body: { ...body, sessionId: newId('cse') } });
    expect(foreign).toMatchObject({ status: 404, body: absent.body });
  });

  it('is ignored as orgId of a body and in headers', async () => {
    const reply = await ours.call('POST', '/specs', {
      body: { ...specDocument({ key: 'own' }), orgId: theirs.orgId },
      headers: { 'x-organization-id': theirs.orgId, 'x-org-id': theirs.orgId, 'x-user-id': theirs.orgId },
    });
    expect(reply.status).toBe(201);
    expect(reply.body.specJson).not.toHaveProperty('orgId');
    expect((await theirs.call('GET', '/specs/own/versions')).status).toBe(404);
    expect((await ours.call('GET', '/specs/own/versions')).body).toHaveLength(1);
  });
});

describe('every list without an id in its path', () => {
  let ourThings: Inventory;
  beforeAll(async () => {
    ourThings = await fillOrg(api, ours, 'ours');
  });

  it('has a case here', () => {
    const isList = ({ method, path, response }: Route) =>
      method === 'get' && !path.includes(':') && response.type === 'array';
    expect(Object.keys(lists).toSorted()).toEqual(
      routes
        .filter(isList)
        .map(({ path }) => path)
        .toSorted(),
    );
  });

  it.each(Object.entries(lists).filter(([, query]) => query !== null))(
    'shows nothing of another org: %s',
    async (path, query) => {
      const idsOf = async (org: TestOrg, things: Inventory): Promise<readonly string[]> =>
        (await org.call('GET', `${path}${query?.(things)}`)).body.map(({ id }: { id: string }) => id);
      const [shown, hidden] = [await idsOf(ours, ourThings), await idsOf(theirs, theirThings)];
      expect(shown).not.toEqual([]);
      expect(hidden).not.toEqual([]);
      expect(shown.filter((id) => hidden.includes(id))).toEqual([]);
    },
  );
});
