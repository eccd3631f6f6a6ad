import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunRow } from '../../src/core/resources/run.ts';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { type OauthServer, startOauthServer } from '../support/upstream/oauth-server.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';
import { startUpstream, type Upstream } from '../support/upstream/upstream.ts';

const clientSecret = 'c1ient+secret/of:this=test';
const started = new AsyncDisposableStack();
const api = createScriptedApi();
let oauth: OauthServer;
let upstream: Upstream;
let stack: Stack;
/** What each resource was asked with and the API took. */
const taken: Record<string, Set<string>> = { tickets: new Set(), reports: new Set() };

beforeAll(async () => {
  oauth = started.use(await startOauthServer());
  for (const name of ['tickets', 'reports']) {
    api.serve(name, (_query, { headers }) => {
      const token = (headers['authorization'] ?? '').replace('Bearer ', '');
      if (!oauth.isValid(token)) return { status: 401 };
      taken[name]?.add(token);
      return { body: [{ id: 1 }] };
    });
  }
  api.serve('open', () => ({ body: [{ id: 1 }] }));
  upstream = started.use(await startUpstream({ reply: api.reply }));
  stack = started.use(await startStack({ allow: [upstream.hostPort, oauth.hostPort] }));
});
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
});
afterAll(() => started.disposeAsync());

describe('a resource that its customer authorizes by itself', () => {
  it('has a grant of its own; the connection is active once there are all', async () => {
    const of = await connect(grantOf('client'));
    expect(await of.authorize()).toEqual({ connected: true, connectionId: of.id, awaiting: ['reports'] });
    expect(await of.status()).toBe('pending');
    expect(await of.authorize('reports')).toEqual({ connected: true, connectionId: of.id });
    expect(await of.status()).toBe('active');
    for (const resource of ['tickets', 'reports']) expect((await of.sync(resource)).status).toBe('succeeded');
    const [tickets, reports] = [taken['tickets'], taken['reports']].map((tokens) => [...(tokens ?? [])]);
    expect(reports).toHaveLength(1);
    expect(tickets).not.toContain(reports?.[0]);

    oauth.revokeAll();
    for (const [resource, client] of [
      ['reports', 'reporter'],
      ['tickets', 'client'],
    ] as const) {
      expect((await of.sync(resource)).status).toBe('succeeded');
      const { authorization, fields } = oauth.requests.at(-1) ?? {};
      expect(fields?.['grant_type']).toBe('refresh_token');
      expect(Buffer.from((authorization ?? '').replace('Basic ', ''), 'base64').toString()).toMatch(`${client}:`);
    }
    expect(oauth.reuses()).toBe(0);
  });

  it('may be authorized in any order, and again', async () => {
    const of = await connect(grantOf('client'));
    expect(await of.authorize('reports')).toMatchObject({ awaiting: [null] });
    expect(await of.authorize('reports')).toMatchObject({ awaiting: [null] });
    expect(await of.authorize()).not.toHaveProperty('awaiting');
    expect(await of.status()).toBe('active');
    expect(await of.authorize('reports')).not.toHaveProperty('awaiting');
  });

  it('is named in the state, which is signed, and in what its run fails with until then', async () => {
    const of = await connect({ kind: 'none' });
    await ask('POST', `/connections/${of.id}/activate`);
    expect((await of.sync('open')).status).toBe('succeeded');
    const run = await of.sync('reports');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
    expect(run.error?.message).toContain('The resource "reports" of this connection');
    expect(run.error?.message).toContain('/authorize?resource=reports');
    expect(await of.status()).toBe('error');

    const state = new URL(await of.authorizeUrl('reports')).searchParams.get('state') ?? '';
    expect(decodeJwt(state)['resource']).toBe('reports');
    expect(await of.authorize('reports')).toEqual({ connected: true, connectionId: of.id });
    expect(await of.status()).toBe('active');
    expect((await of.sync('reports')).status).toBe('succeeded');
  });

  it('gives its grant back with that of the connection', async () => {
    const of = await connect(grantOf('client'));
    for (const resource of [undefined, 'reports']) await of.authorize(resource);
    const before = oauth.revocations();
    await ask('DELETE', `/connections/${of.id}`);
    await eventually('both are given back', async () => oauth.revocations() === before + 2);
  });

  it.each([
    ['unknown', 400, 'tickets, reports, open'],
    ['open', 409, 'authorize ?resource=reports'],
    [undefined, 409, 'authorize ?resource=reports'],
  ])('is the only one that can be: ?resource=%s is a %i', async (resource, status, words) => {
    const of = await connect({ kind: 'none' });
    const query = resource === undefined ? '' : `?resource=${resource}`;
    const reply = await stack.org.call('GET', `/oauth/${of.id}/authorize${query}`);
    expect(reply.status).toBe(status);
    expect(JSON.stringify(reply.body)).toContain(words);
  });
});

const grantOf = (clientId: string) => ({
  kind: 'oauth2_authorization_code',
  authorizeUrl: '{{ params.oauthUrl }}/authorize',
  tokenUrl: '{{ params.oauthUrl }}/token',
  revokeUrl: '{{ params.oauthUrl }}/revoke',
  clientId,
  clientSecret: '{{ secrets.clientSecret }}',
});

let connections = 0;

/** A pending connection whose `reports` have an auth of their own; the other resources have that of the spec. */
async function connect(auth: Readonly<Record<string, unknown>>) {
  const destination = await openAuditedDestination();
  connections += 1;
  const specKey = `grants-${connections}`;
  await ask('POST', '/specs', specDocument(specKey, auth));
  await ask('POST', `/specs/${specKey}/versions/1.0.0/publish`);
  const { id } = await ask('POST', '/connections', {
    workspaceId: stack.org.workspaceId,
    specKey,
    specVersion: '1.0.0',
    displayName: specKey,
    params: { apiUrl: upstream.url, oauthUrl: oauth.url },
    secrets: { clientSecret, databaseUrl: destination.url },
  });
  const authorizeUrl = async (resource?: string): Promise<string> => {
    const query = resource === undefined ? '' : `?resource=${resource}`;
    return (await ask('GET', `/oauth/${id}/authorize${query}`)).authorizeUrl;
  };
  return {
    id,
    authorizeUrl,
    authorize: async (resource?: string) =>
      await ask('GET', (await oauth.agree(await authorizeUrl(resource))).replace('/api/v1', '')),
    async sync(resource: string): Promise<RunRow> {
      const { id: runId } = await ask('POST', `/connections/${id}/sync`, { resource });
      return await eventually('the run ends', async () => {
        const run = await ask('GET', `/runs/${runId}`);
        return run.finishedAt !== null && run;
      });
    },
    status: async () => (await ask('GET', `/connections/${id}`)).status,
  };
}

async function ask(method: string, path: string, body?: unknown) {
  const reply = await stack.org.call(method, path, { body });
  expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
  return reply.body;
}

const specDocument = (specKey: string, auth: Readonly<Record<string, unknown>>) => ({
  metadata: { key: specKey, name: specKey, version: '1.0.0' },
  connectionParams: [
    { key: 'apiUrl', type: 'url' },
    { key: 'oauthUrl', type: 'url' },
    ...['clientSecret', 'databaseUrl'].map((name) => ({ key: name, type: 'string', secret: true })),
  ],
  auth,
  http: { baseUrl: '{{ params.apiUrl }}', rateLimit: { requests: 10_000 }, retry: { baseMs: 10 } },
  resources: ['tickets', 'reports', 'open'].map((name) => ({
    key: name,
    primaryKey: 'id',
    ...(name === 'reports' ? { auth: grantOf('reporter') } : {}),
    request: { path: `/${name}` },
    target: { table: name },
  })),
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});
