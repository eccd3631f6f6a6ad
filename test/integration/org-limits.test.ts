import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setOrgLimits } from '../../db/queries/orgs/org-limits.ts';
import { orgScope } from '../../db/scope.ts';
import { orgLimits } from '../../src/core/resources/org-limits.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';

const started = new AsyncDisposableStack();
let api: TestApi;
beforeAll(async () => {
  api = started.use(await startApi());
}, 60_000);
afterAll(() => started.disposeAsync());

/** Requests at the same moment. */
const many = 12;
const limit = 3;

interface Case {
  readonly name: keyof typeof orgLimits;
  readonly path: (connectionId: string) => string;
  readonly body: (org: TestOrg, n: number) => unknown;
  readonly status: number;
  /** That there are already. */
  readonly before?: number;
}

const cases: readonly Case[] = [
  {
    name: 'schedulesPerResource',
    path: (id) => `/connections/${id}/schedules`,
    body: () => ({ resourceKey: 'items', cron: '0 * * * *' }),
    status: 409,
  },
  {
    name: 'schedules',
    path: (id) => `/connections/${id}/schedules`,
    body: () => ({ resourceKey: 'items', cron: '0 * * * *' }),
    status: 409,
  },
  {
    name: 'hooksPerConnection',
    path: (id) => `/connections/${id}/hooks`,
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
  { name: 'apiKeys', path: () => '/api-keys', body: () => ({}), status: 409, before: 1 },
  {
    name: 'queuedRunsPerResource',
    path: (id) => `/connections/${id}/sync`,
    body: () => ({ resource: 'items' }),
    status: 429,
  },
  { name: 'queuedRuns', path: (id) => `/connections/${id}/sync`, body: () => ({ resource: 'items' }), status: 429 },
];

describe('an org', () => {
  it.each(cases)('has no more $name than its limit, however many are asked for at once', async (one) => {
    const { name, path, body, status, before = 0 } = one;
    const org = await api.newOrg();
    const connectionId = await connect(org);
    const scope = orgScope(org.orgId);
    await setOrgLimits(api.deps.db, scope, { [name]: before + limit });
    const ask = (n: number) => org.call('POST', path(connectionId), { body: body(org, n) });
    const responses = await Promise.all(Array.from({ length: many }, (_, n) => ask(n)));
    const made = responses.filter((response) => response.status < 300).length;
    caseFigure('limitsExceeded', made > limit);
    expect(made).toBe(limit);
    for (const refused of responses.filter((response) => response.status >= 300)) {
      expect(refused.status).toBe(status);
      expect(refused.body.error.message).toContain(`limit of ${before + limit} `);
      expect(refused.body.error.message).toContain(`(\`${name}\`)`);
      expect(refused.headers.get('retry-after')).toBe(status === 429 ? '10' : null);
    }

    // Another org has its own, and the operator may give more.
    const other = await api.newOrg();
    const otherId = await connect(other);
    expect((await other.call('POST', path(otherId), { body: body(other, 0) })).status).toBeLessThan(300);
    await setOrgLimits(api.deps.db, scope, { [name]: before + limit + 1 });
    expect((await ask(many)).status).toBeLessThan(300);
    expect((await ask(many + 1)).status).toBe(status);
    await setOrgLimits(api.deps.db, scope, { [name]: null });
    expect((await ask(many + 1)).status).toBeLessThan(300);
  });

  it('has no more queued runs of a resource than by default, when 200 are requested at once', async () => {
    const org = await api.newOrg();
    const connectionId = await connect(org);
    const ask = () => org.call('POST', `/connections/${connectionId}/sync`, { body: { resource: 'items' } });
    const statuses = (await Promise.all(Array.from({ length: 200 }, ask))).map(({ status }) => status);
    const accepted = statuses.filter((status) => status === 202).length;
    caseFigure('limitsExceeded', accepted > orgLimits.queuedRunsPerResource.default);
    expect(accepted).toBe(orgLimits.queuedRunsPerResource.default);
    expect(statuses.filter((status) => status === 429)).toHaveLength(statuses.length - accepted);
  });

  it('whose response is 429 may repeat the request under its Idempotency-Key', async () => {
    const org = await api.newOrg();
    const connectionId = await connect(org);
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

async function connect(org: TestOrg): Promise<string> {
  const ask = async (path: string, body?: unknown) => {
    const response = await org.call('POST', path, { body });
    expect(response.status, JSON.stringify(response.body)).toBeLessThan(300);
    return response.body;
  };
  await ask('/specs', specDocument('limited'));
  await ask('/specs/limited/versions/1.0.0/publish');
  const { id } = await ask('/connections', connectionBody(org));
  await ask(`/connections/${id}/activate`);
  return id;
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
