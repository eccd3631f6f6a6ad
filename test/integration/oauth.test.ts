import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunRow } from '../../src/core/resources/run.ts';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { type OauthServer, startOauthServer, type TokenRequest } from '../support/upstream/oauth-server.ts';
import { generateRecords, startUpstream, type Upstream, type UpstreamRequest } from '../support/upstream/upstream.ts';

const records = 1000;
const perPage = 50;
const parents = 20;
const clientSecret = 'c1ient+secret/of:this=test';
const started = new AsyncDisposableStack();
let oauth: OauthServer;
let upstream: Upstream;
/** Takes its time over each page, so that tokens of 2 s do not last for a run. */
let slow: Upstream;
let stack: Stack;

beforeAll(async () => {
  oauth = started.use(await startOauthServer());
  const collections = {
    one: generateRecords(records),
    two: generateRecords(records),
    parents: generateRecords(parents),
  };
  const reply = ({ headers }: UpstreamRequest) =>
    oauth.isValid((headers['authorization'] ?? '').replace('Bearer ', '')) ? undefined : { status: 401, body: '{}' };
  upstream = started.use(await startUpstream({ collections, reply }));
  slow = started.use(await startUpstream({ collections, reply, latencyMs: 500 }));
  const allow = [upstream.hostPort, slow.hostPort, oauth.hostPort];
  // With one run at a time per worker, two runs at once are in two processes.
  stack = started.use(await startStack({ allow, workers: 2, env: { WORKER_CONCURRENCY: '1' } }));
});
beforeEach(() => {
  oauth.reply = () => undefined;
});
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
});
afterAll(() => started.disposeAsync());

describe('a connection that its customer authorized', () => {
  it('syncs, and shows no secret of it in the call log', async () => {
    const connection = await connect();
    await connection.authorize();
    expect(await connection.status()).toBe('active');
    oauth.revokeAll();
    const run = await connection.sync('one');
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: records } });
    const { body: calls } = await stack.org.call('GET', `/runs/${run.id}/calls`);
    expect(calls.map(({ url }: { url: string }) => url)).toContain(oauth.tokenUrl);
    const shown = [JSON.stringify(calls), stack.tails()].join('\n');
    const { fields } = lastRequest();
    for (const secret of [clientSecret, encodeURIComponent(clientSecret), String(fields['refresh_token']), 'eyJ']) {
      expect(shown).not.toContain(secret);
    }
  });

  it('keeps its grant when the client gets a new secret', async () => {
    const connection = await connect();
    await connection.authorize();
    await ask('PATCH', `/connections/${connection.id}`, { secrets: { clientSecret: 'rotated-client-secret' } });
    oauth.revokeAll();
    expect((await connection.sync('one')).status).toBe('succeeded');
    const { authorization, fields } = lastRequest();
    expect(fields['grant_type']).toBe('refresh_token');
    expect(authorization).toBe(`Basic ${Buffer.from('client:rotated-client-secret').toString('base64')}`);
  });

  it('refreshes with the newest refresh token, each used once', async () => {
    const connection = await connect();
    await connection.authorize();
    const before = oauth.requests.length;
    for (const resource of ['one', 'two', 'one'] as const) {
      oauth.revokeAll();
      expect((await connection.sync(resource)).status).toBe('succeeded');
    }
    const used = oauth.requests.slice(before).map(({ fields }) => fields['refresh_token']);
    expect(new Set(used).size).toBe(3);
    expect(used).toHaveLength(3);
    expect(oauth.reuses()).toBe(0);
  });

  it('refreshes in the middle of a run, and no record is missing', async () => {
    const connection = await connect();
    await connection.authorize();
    const before = oauth.requests.length;
    const fourth = upstream.hold(upstream.journal.length + 4);
    const run = connection.sync('one');
    await fourth.reached;
    oauth.revokeAll();
    fourth.release();
    expect(await run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: records } });
    expect(oauth.requests).toHaveLength(before + 1);
  });

  it('keeps its grant while the token endpoint is in trouble', async () => {
    const connection = await connect();
    await connection.authorize();
    const before = oauth.requests.length;
    const troubles = [
      { status: 503, body: {} },
      { status: 200, body: { maintenance: true } },
    ];
    oauth.reply = () => troubles[oauth.requests.length - before - 1];
    oauth.revokeAll();
    expect((await connection.sync('one')).status).toBe('succeeded');
    expect(await connection.status()).toBe('active');
    const used = oauth.requests.slice(before).map(({ fields }) => fields['refresh_token']);
    expect(used).toHaveLength(3);
    expect(new Set(used).size).toBe(1);
  });

  it('goes to error when the grant is over, and is active again after the next authorization', async () => {
    const connection = await connect();
    await connection.authorize();
    oauth.endGrants();
    oauth.revokeAll();
    const run = await connection.sync('one');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
    expect(run.error?.message).toMatch(/invalid_grant.*\/authorize/);
    expect(await connection.status()).toBe('error');
    await stack.db
      .updateTable('connections')
      .set({ testAt: new Date().toISOString() })
      .where('id', '=', connection.id)
      .execute();
    await eventually('nobody tests what only the customer can mend', async () => {
      const { error } = await ask('GET', `/connections/${connection.id}`);
      return error.nextTestAt === null;
    });
    await connection.authorize();
    expect(await connection.status()).toBe('active');
    expect((await connection.sync('one')).status).toBe('succeeded');
  });
});

describe('a connection that nobody authorized', () => {
  it('fails with the address that mends it', async () => {
    const connection = await connect();
    await ask('POST', `/connections/${connection.id}/activate`);
    const run = await connection.sync('one');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
    expect(run.error?.message).toContain('/api/v1/oauth/:connectionId/authorize');
    expect(await connection.status()).toBe('error');
  });
});

describe('two runs in two processes over 20 parents, with tokens of 2 s and refresh tokens for one use', () => {
  it('both succeed, and no refresh token is used twice', async () => {
    oauth.reply = () => ({ expiresIn: 2 });
    const connection = await connect(slow);
    await connection.authorize();
    const before = oauth.requests.length;
    slow.pause();
    const runs = Promise.all([connection.sync('details'), connection.sync('extras')]);
    // Each run waits for its first page of parents.
    await slow.requested(2);
    slow.resume();
    expect(await runs).toMatchObject([
      { status: 'succeeded', statsJson: { recordsIn: parents } },
      { status: 'succeeded', statsJson: { recordsIn: parents } },
    ]);
    const used = oauth.requests.slice(before).map(({ fields }) => fields['refresh_token']);
    expect(used.length).toBeGreaterThanOrEqual(2);
    expect(new Set(used).size).toBe(used.length);
    expect(oauth.reuses()).toBe(0);
  });
});

interface Connection {
  readonly id: string;
  /** The customer agrees at the provider and comes back. */
  authorize(): Promise<void>;
  /** Resolves with the final row of a new run. */
  sync(resource: ResourceKey): Promise<RunRow>;
  status(): Promise<string>;
}

type ResourceKey = 'one' | 'two' | 'details' | 'extras';

let connections = 0;

async function connect(api: Upstream = upstream): Promise<Connection> {
  const destination = await openAuditedDestination();
  connections += 1;
  const specKey = `oauth-${connections}`;
  await ask('POST', '/specs', specDocument(specKey));
  await ask('POST', `/specs/${specKey}/versions/1.0.0/publish`);
  const { id } = await ask('POST', '/connections', {
    workspaceId: stack.org.workspaceId,
    specKey,
    specVersion: '1.0.0',
    displayName: specKey,
    params: { apiUrl: api.url, oauthUrl: oauth.url },
    secrets: { clientSecret, databaseUrl: destination.url },
  });
  return {
    id,
    authorize: async () => {
      const { authorizeUrl } = await ask('GET', `/oauth/${id}/authorize`);
      expect(await ask('GET', await comesBackTo(authorizeUrl))).toEqual({ connected: true, connectionId: id });
    },
    async sync(resource) {
      const { id: runId } = await ask('POST', `/connections/${id}/sync`, { resource });
      return eventually('the run ends', async () => {
        const run = await ask('GET', `/runs/${runId}`);
        return run.finishedAt !== null && run;
      });
    },
    status: async () => (await ask('GET', `/connections/${id}`)).status,
  };
}

const comesBackTo = async (authorizeUrl: string) => (await oauth.agree(authorizeUrl)).replace('/api/v1', '');

async function ask(method: string, path: string, body?: unknown) {
  const reply = await stack.org.call(method, path, { body });
  expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
  return reply.body;
}

function lastRequest(): TokenRequest {
  const last = oauth.requests.at(-1);
  if (!last) throw new Error('Nobody asked for a token');
  return last;
}

const specDocument = (specKey: string) => ({
  metadata: { key: specKey, name: specKey, version: '1.0.0' },
  connectionParams: [
    { key: 'apiUrl', type: 'url' },
    { key: 'oauthUrl', type: 'url' },
    ...['clientSecret', 'databaseUrl'].map((name) => ({ key: name, type: 'string', secret: true })),
  ],
  auth: {
    kind: 'oauth2_authorization_code',
    authorizeUrl: '{{ params.oauthUrl }}/authorize',
    tokenUrl: '{{ params.oauthUrl }}/token',
    clientId: 'client',
    clientSecret: '{{ secrets.clientSecret }}',
  },
  // Two runs at once, two requests of each: 20 parents at 500 ms take 5 s, longer than tokens of 2 s last.
  http: {
    baseUrl: '{{ params.apiUrl }}',
    rateLimit: { requests: 10_000, maxConcurrent: 2 },
    retry: { baseMs: 10 },
  },
  resources: [
    ...['one', 'two', 'parents'].map((name) => ({
      key: name,
      primaryKey: 'id',
      request: { path: `/cursor/${name}`, query: { per_page: '{{ page.size }}' } },
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next_cursor', size: perPage, inject: { in: 'query', name: 'cursor' } },
      target: { table: name },
    })),
    ...['details', 'extras'].map((name) => ({
      key: name,
      primaryKey: 'id',
      forEach: [{ as: 'parent', resource: 'parents', from: 'live' }],
      request: { path: '/items/parents/{{ each.parent.id }}' },
      target: { table: name },
    })),
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});
