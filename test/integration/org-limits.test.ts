import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setOrgLimits } from '../../db/queries/orgs/org-limits.ts';
import { orgScope } from '../../db/scope.ts';
import { firstIdAt } from '../../src/core/ids.ts';
import { orgLimits } from '../../src/core/resources/org-limits.ts';
import { openConsole } from '../support/console/console-client.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { signers } from '../support/webhooks/hook-signers.ts';
import { createHook, sendTo } from '../support/webhooks/hooks.ts';

const started = new AsyncDisposableStack();
let api: TestApi;
beforeAll(async () => {
  api = started.use(await startApi());
});
afterAll(() => started.disposeAsync());

/** Requests at the same moment. */
const many = 12;
const limit = 3;

interface Case {
  readonly name: keyof typeof orgLimits;
  readonly path: (things: Things) => string;
  readonly body: (org: TestOrg, n: number) => unknown;
  readonly status: number;
  /** Seconds to wait after a 429; absent: 10. */
  readonly retryAfter?: number;
  /** That there are already. */
  readonly before?: number;
}

const cases: readonly Case[] = [
  {
    name: 'schedulesPerResource',
    path: ({ connectionId: id }) => `/connections/${id}/schedules`,
    body: () => ({ resourceKey: 'items', cron: '0 * * * *' }),
    status: 409,
  },
  {
    name: 'schedules',
    path: ({ connectionId: id }) => `/connections/${id}/schedules`,
    body: () => ({ resourceKey: 'items', cron: '0 * * * *' }),
    status: 409,
  },
  {
    name: 'hooksPerConnection',
    path: ({ connectionId: id }) => `/connections/${id}/hooks`,
    body: () => ({ resourceKeys: ['items'], verification: { kind: 'none' } }),
    status: 409,
  },
  { name: 'specs', path: () => '/specs', body: (_, n) => specDocument(`other-${n}`), status: 409, before: 1 },
  {
    name: 'versionsPerSpec',
    path: () => '/specs',
    body: (_, n) => specDocument('limited', `1.0.${n + 1}`),
    status: 409,
    before: 1,
  },
  { name: 'connections', path: () => '/connections', body: connectionBody, status: 409, before: 1 },
  {
    name: 'workspaces',
    path: () => '/workspaces',
    body: (_, n) => ({ name: `w${n}`, kind: 'dev' }),
    status: 409,
    before: 3,
  },
  {
    name: 'requestedDeliveries',
    path: ({ endpointId }) => `/webhook-endpoints/${endpointId}/test`,
    body: () => ({}),
    status: 429,
    retryAfter: 600,
  },
  {
    name: 'recoveries',
    path: ({ endpointId }) => `/webhook-endpoints/${endpointId}/recover`,
    body: () => ({ since: new Date(Date.now() - 1000).toISOString(), include: ['failed'] }),
    status: 429,
    retryAfter: 600,
  },
  {
    name: 'oauthApps',
    path: () => '/oauth-apps',
    body: (_, n) => ({ key: `a${n}`, clientId: 'c' }),
    status: 409,
  },
  { name: 'apiKeys', path: () => '/api-keys', body: () => ({}), status: 409, before: 1 },
  {
    name: 'queuedRunsPerResource',
    path: ({ connectionId: id }) => `/connections/${id}/sync`,
    body: () => ({ resource: 'items' }),
    status: 429,
  },
  {
    name: 'queuedRuns',
    path: ({ connectionId: id }) => `/connections/${id}/sync`,
    body: () => ({ resource: 'items' }),
    status: 429,
  },
];

describe('an org', () => {
  it.each(cases)('has no more $name than its limit, however many are asked for at once', async (one) => {
    const { name, path, body, status, retryAfter = 10, before = 0 } = one;
    const org = await api.newOrg();
    const things = await connect(org);
    const scope = orgScope(org.orgId);
    await setOrgLimits(api.deps.db, scope, { [name]: before + limit });
    const ask = (n: number) => org.call('POST', path(things), { body: body(org, n) });
    const responses = await Promise.all(Array.from({ length: many }, (_, n) => ask(n)));
    const made = responses.filter((response) => response.status < 300).length;
    caseFigure('limitsExceeded', made > limit);
    expect(made).toBe(limit);
    for (const refused of responses.filter((response) => response.status >= 300)) {
      expect(refused.status).toBe(status);
      expect(refused.body.error.message).toContain(`limit of ${before + limit} `);
      expect(refused.body.error.message).toContain(`(\`${name}\`)`);
      expect(refused.headers.get('retry-after')).toBe(status === 429 ? String(retryAfter) : null);
    }

    // Another org has its own, and the operator may give more.
    const other = await api.newOrg();
    expect((await other.call('POST', path(await connect(other)), { body: body(other, 0) })).status).toBeLessThan(300);
    await setOrgLimits(api.deps.db, scope, { [name]: before + limit + 1 });
    expect((await ask(many)).status).toBeLessThan(300);
    expect((await ask(many + 1)).status).toBe(status);
    await setOrgLimits(api.deps.db, scope, { [name]: null });
    expect((await ask(many + 1)).status).toBeLessThan(300);
  });

  it('has no more queued runs of a resource than by default, when 200 are requested at once', async () => {
    const org = await api.newOrg();
    const { connectionId } = await connect(org);
    const ask = () => org.call('POST', `/connections/${connectionId}/sync`, { body: { resource: 'items' } });
    const statuses = (await Promise.all(Array.from({ length: 200 }, ask))).map(({ status }) => status);
    const accepted = statuses.filter((status) => status === 202).length;
    caseFigure('limitsExceeded', accepted > orgLimits.queuedRunsPerResource.default);
    expect(accepted).toBe(orgLimits.queuedRunsPerResource.default);
    expect(statuses.filter((status) => status === 429)).toHaveLength(statuses.length - accepted);
  });

  it('counts tests and redeliveries of a day together, those of a new endpoint and of the console too', async () => {
    const org = await api.newOrg();
    const { endpointId } = await connect(org);
    const scope = orgScope(org.orgId);
    await setOrgLimits(api.deps.db, scope, { requestedDeliveries: 2 });
    const { body: first } = await org.call('POST', `/webhook-endpoints/${endpointId}/test`);
    const redeliver = () => org.call('POST', `/webhook-deliveries/${first.id}/redeliver`);
    expect((await redeliver()).status).toBe(202);
    expect(await redeliver()).toMatchObject({
      status: 429,
      body: { error: { code: 'rate_limited', message: expect.stringContaining('limit of 2 tests and redeliveries') } },
    });
    const endpoint = { url: 'https://93.184.215.14/', eventTypes: ['run.failed'], verifyOnCreate: true };
    expect((await org.call('POST', '/webhook-endpoints', { body: endpoint })).status).toBe(429);
    expect((await org.call('GET', '/webhook-endpoints')).body).toHaveLength(1);
    const console = await openConsole(api, org.apiKey);
    for (const path of [`/endpoints/${endpointId}/test`, `/deliveries/${first.id}/redeliver`]) {
      const { status, text } = await console.post(`/console${path}`);
      expect([path, status]).toEqual([path, 429]);
      expect(text).toContain('limit of 2 tests and redeliveries');
    }
    expect((await org.call('GET', '/webhook-deliveries')).body).toHaveLength(2);

    // A request of two days ago does not count.
    const id = firstIdAt('whd', new Date(Date.now() - 48 * 3_600_000));
    await api.deps.db.updateTable('webhookDeliveries').set({ id }).where('id', '=', first.id).execute();
    expect((await org.call('POST', `/webhook-deliveries/${id}/redeliver`)).status).toBe(202);
    expect((await org.call('POST', `/webhook-deliveries/${id}/redeliver`)).status).toBe(429);
  });

  it('logs no more requests to its hooks that start nothing than its limit of an hour, however many come at once', async () => {
    const org = await api.newOrg();
    const { connectionId } = await connect(org);
    const scope = orgScope(org.orgId);
    const verification = { kind: 'github', secret: 'of-the-upstream' };
    const hookOf = () => createHook(sendTo(api), org, connectionId, { verification });
    const [hook, other] = [await hookOf(), await hookOf()];
    await setOrgLimits(api.deps.db, scope, { idleHookRequests: limit });
    const replies = await Promise.all(Array.from({ length: many }, (_, n) => hook.post(`{"forged":${n}}`)));
    const rejected = replies.filter(({ status }) => status === 401).length;
    const logged = (await hook.requests()).length;
    caseFigure('limitsExceeded', logged > limit);
    expect([logged, rejected]).toEqual([limit, limit]);
    for (const reply of replies.filter(({ status }) => status !== 401)) {
      expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '600']);
      expect(await reply.text()).toContain(`limit of ${limit} requests to hooks in an hour`);
    }

    // Other hooks of the org have no lines either; what is verified is accepted, and a duplicate gets the same response.
    expect((await other.post('{}')).status).toBe(429);
    const signed = { ...signers.github('{"id":1}', verification.secret), 'x-github-delivery': '1' };
    const accepted = await other.post('{"id":1}', signed);
    expect([accepted.status, await accepted.json()]).toEqual([202, { accepted: true }]);
    const again = await other.post('{"id":1}', signed);
    expect([again.status, await again.json()]).toEqual([202, expect.objectContaining({ duplicate: true })]);
    expect(await other.requests()).toMatchObject([{ status: 'accepted' }]);

    // Another org has its own limit, an hour later there is room again, and the operator may give more.
    const foreign = await api.newOrg();
    const theirs = await createHook(sendTo(api), foreign, (await connect(foreign)).connectionId, { verification });
    expect((await theirs.post('{}')).status).toBe(401);
    const [{ id: oldest } = { id: '' }] = (await hook.requests()).toReversed();
    const id = firstIdAt('hreq', new Date(Date.now() - 2 * 3_600_000));
    await api.deps.db.updateTable('hookRequests').set({ id }).where('id', '=', oldest).execute();
    expect((await hook.post('{}')).status).toBe(401);
    expect((await hook.post('{}')).status).toBe(429);
    await setOrgLimits(api.deps.db, scope, { idleHookRequests: limit + 1 });
    expect((await hook.post('{}')).status).toBe(401);
  });

  it('stores no more of its specs than its limit of bytes, however many come at once', async () => {
    const org = await api.newOrg();
    const scope = orgScope(org.orgId);
    await setOrgLimits(api.deps.db, scope, { specMebibytes: limit });
    const draft = (n: number, texts = 14) => largeSpec(`large-${n}`, texts);
    const ask = (n: number) => org.call('POST', '/specs', { body: draft(n) });
    const responses = await Promise.all(Array.from({ length: many }, (_, n) => ask(n)));
    const { rows } = await sql<{ bytes: number }>`
      select sum(octet_length(spec_json::text))::int as bytes from spec_versions where org_id = ${org.orgId}`.execute(
      api.deps.db,
    );
    const mebibytes = (rows[0]?.bytes ?? 0) / 2 ** 20;
    // The last one may go beyond it.
    caseFigure('limitsExceeded', mebibytes > limit + 1);
    expect(mebibytes).toBeGreaterThan(limit);
    expect(mebibytes).toBeLessThan(limit + 1);
    const refused = responses.filter(({ status }) => status !== 201);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, body } of refused) {
      expect([status, body.error.code]).toEqual([409, 'conflict']);
      expect(body.error.message).toContain(
        `limit of ${limit} MiB of all versions of specs together (\`specMebibytes\`)`,
      );
    }

    // A draft may become smaller, not larger; a draft that is deleted makes room, and the operator may give more.
    const made = responses.findIndex(({ status }) => status === 201);
    const version = `/specs/large-${made}/versions/1.0.0`;
    expect((await org.call('PUT', version, { body: draft(made, 15) })).status).toBe(409);
    expect((await org.call('PUT', version, { body: draft(made, 13) })).status).toBe(200);
    expect((await ask(many)).status).toBe(409);
    expect((await org.call('DELETE', version)).status).toBe(200);
    expect((await ask(many)).status).toBe(201);
    expect((await ask(many + 1)).status).toBe(409);
    await setOrgLimits(api.deps.db, scope, { specMebibytes: limit + 1 });
    expect((await ask(many + 1)).status).toBe(201);
  });

  it('whose response is 429 may repeat the request under its Idempotency-Key', async () => {
    const org = await api.newOrg();
    const { connectionId } = await connect(org);
    const ask = () =>
      org.call('POST', `/connections/${connectionId}/sync`, {
        body: { resource: 'items' },
        headers: { 'idempotency-key': 'once' },
      });
    await setOrgLimits(api.deps.db, orgScope(org.orgId), { queuedRuns: 0 });
    expect((await ask()).status).toBe(429);
    await setOrgLimits(api.deps.db, orgScope(org.orgId), { queuedRuns: null });
    expect((await ask()).status).toBe(202);
  });
});

/** Things that a limit is about. */
interface Things {
  readonly connectionId: string;
  readonly endpointId: string;
}

async function connect(org: TestOrg): Promise<Things> {
  const ask = async (path: string, body?: unknown) => {
    const response = await org.call('POST', path, { body });
    expect(response.status, JSON.stringify(response.body)).toBeLessThan(300);
    return response.body;
  };
  await ask('/specs', specDocument('limited'));
  await ask('/specs/limited/versions/1.0.0/publish');
  const { id } = await ask('/connections', connectionBody(org));
  await ask(`/connections/${id}/activate`);
  const { id: endpointId } = await ask('/webhook-endpoints', {
    url: 'https://93.184.215.14/',
    eventTypes: ['run.failed'],
  });
  return { connectionId: id, endpointId };
}

function connectionBody({ workspaceId }: TestOrg) {
  return {
    workspaceId,
    specKey: 'limited',
    specVersion: '1.0.0',
    displayName: 'Limited',
    params: {},
    secrets: { databaseUrl: 'postgres://u:p@db.example/d' },
  };
}

const specDocument = (key: string, version = '1.0.0') => ({
  metadata: { key, name: 'Limited', version },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl: 'https://api.example' },
  resources: [{ key: 'items', primaryKey: 'id', request: { path: '/items' } }],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}' },
});

/** A spec with so many texts of 65,000 characters. */
function largeSpec(key: string, texts: number) {
  const body = Array.from({ length: texts }, () => 'x'.repeat(65_000));
  const test = { name: 'large', resource: 'items', mocks: [{ request: {}, respond: { body } }], expect: {} };
  return { ...specDocument(key), tests: [test] };
}
