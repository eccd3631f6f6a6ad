import { createHmac } from 'node:crypto';
import { jwtVerify } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunRow } from '../../src/core/resources/run.ts';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { type OauthServer, startOauthServer } from '../support/upstream/oauth-server.ts';
import { generateRecords, startUpstream, type Upstream, type UpstreamRequest } from '../support/upstream/upstream.ts';

const clientSecret = 'c1ient+secret/of:this=test';
const key = 'k'.repeat(40);
const started = new AsyncDisposableStack();
let oauth: OauthServer;
let upstream: Upstream;
let stack: Stack;
/** Whether the API takes a request; each test sets its own. */
let accepts: (request: UpstreamRequest) => boolean = () => true;

beforeAll(async () => {
  oauth = started.use(await startOauthServer());
  upstream = started.use(
    await startUpstream({
      collections: { one: generateRecords(1000), two: generateRecords(1000) },
      reply: (request) => {
        if (request.url === '/login') return { body: '{"session":{"id":"session-1","ends":4102444800}}' };
        return accepts(request) ? undefined : { status: 401, body: '{}' };
      },
    }),
  );
  stack = started.use(await startStack({ allow: [upstream.hostPort, oauth.hostPort], workers: 2 }));
});
beforeEach(() => {
  accepts = ({ headers }) => oauth.isValid((headers['authorization'] ?? '').replace('Bearer ', ''));
  oauth.reply = () => undefined;
});
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
});
afterAll(() => started.disposeAsync());

describe('client credentials', () => {
  it('one token serves all pages, resources, workers and runs of a connection', async () => {
    const before = oauth.requests.length;
    const connection = await connect(clientCredentials());
    const runs = await Promise.all([connection.sync('one'), connection.sync('two')]);
    expect(runs.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
    expect((await connection.sync('one')).status).toBe('succeeded');
    const basic = `Basic ${Buffer.from(`client:${encodeURIComponent(clientSecret)}`).toString('base64')}`;
    expect(oauth.requests.slice(before)).toEqual([
      { authorization: basic, fields: { grant_type: 'client_credentials', scope: 'read:a read:b', audience: 'api' } },
    ]);
  });

  it('are shown in the call log without the secret and the token', async () => {
    const connection = await connect(clientCredentials({ clientAuth: 'post' }));
    const run = await connection.sync('one');
    const { body: calls } = await stack.org.call('GET', `/runs/${run.id}/calls`);
    expect(calls[0]).toMatchObject({ method: 'POST', url: oauth.tokenUrl, statusCode: 200 });
    const text = JSON.stringify(calls);
    for (const secret of [clientSecret, encodeURIComponent(clientSecret)]) expect(text).not.toContain(secret);
    expect(text).not.toMatch(/eyJ/);
  });

  it('a token that is about to expire is replaced before the next run', async () => {
    oauth.reply = () => ({ expiresIn: 1 });
    const connection = await connect(clientCredentials());
    expect((await connection.sync('one')).status).toBe('succeeded');
    const before = oauth.requests.length;
    oauth.reply = () => undefined;
    const until = Date.now() + 1000;
    await eventually('half a second of a token is over', async () => Date.now() > until);
    expect((await connection.sync('two')).status).toBe('succeeded');
    expect(oauth.requests).toHaveLength(before + 1);
  });

  it('a token that expires between pages is replaced once, and the run goes on', async () => {
    const connection = await connect(clientCredentials());
    const before = oauth.requests.length;
    const fourth = upstream.hold(upstream.journal.length + 4);
    const run = connection.sync('one');
    await fourth.reached;
    oauth.revokeAll();
    fourth.release();
    expect(await run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 1000 } });
    expect(oauth.requests).toHaveLength(before + 2);
  });

  it('a client that is refused fails the run, and its connection goes to error', async () => {
    oauth.reply = () => ({ status: 401, body: { error: 'invalid_client', error_description: clientSecret } });
    const connection = await connect(clientCredentials());
    const run = await connection.sync('one');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
    expect(run.error?.message).toContain('invalid_client');
    expect(await connection.status()).toBe('error');
  });

  it('a token that is refused although it is new fails the run, after one refresh', async () => {
    accepts = () => false;
    const connection = await connect(clientCredentials());
    const before = oauth.requests.length;
    const run = await connection.sync('one');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
    expect(oauth.requests).toHaveLength(before + 2);
    expect(await connection.status()).toBe('error');
  });

  it('an endpoint in trouble only delays the run', async () => {
    const until = oauth.requests.length + 4;
    oauth.reply = () => (oauth.requests.length <= until ? { status: 503, body: {} } : undefined);
    const connection = await connect(clientCredentials());
    expect((await connection.sync('one')).status).toBe('succeeded');
    expect(await connection.status()).toBe('active');
  });
});

describe("a resource's own auth", () => {
  it('logs in for itself, while the others use that of the spec', async () => {
    accepts = ({ url, headers }) =>
      url.includes('/two')
        ? headers['cookie'] === 'sid=session-1' && headers['authorization'] === undefined
        : oauth.isValid((headers['authorization'] ?? '').replace('Bearer ', ''));
    const session = {
      kind: 'session',
      login: { method: 'POST', path: '/login', body: { json: { password: '{{ secrets.clientSecret }}' } } },
      tokenFrom: 'body.session.id',
      expiresFrom: 'body.session.ends',
      put: { in: 'cookie', name: 'sid', prefix: '' },
    };
    const connection = await connect(clientCredentials(), { two: session });
    const runs = [await connection.sync('one'), await connection.sync('two'), await connection.sync('two')];
    expect(runs.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    const logins = upstream.journal.filter(({ url }) => url === '/login');
    expect(logins.map(({ body }) => JSON.parse(body))).toEqual([{ password: clientSecret }]);
  });
});

describe('a signed token', () => {
  it('goes with every request and can be verified', async () => {
    accepts = () => true;
    const claims = { iss: 'me', sub: '{{ params.apiUrl }}' };
    const connection = await connect({
      kind: 'jwt',
      algorithm: 'HS256',
      key: '{{ secrets.key }}',
      claims,
      keyId: 'k1',
    });
    const from = upstream.journal.length;
    expect((await connection.sync('one')).status).toBe('succeeded');
    for (const { headers } of upstream.journal.slice(from)) {
      const token = (headers['authorization'] ?? '').replace('Bearer ', '');
      const { payload, protectedHeader } = await jwtVerify(token, new TextEncoder().encode(key));
      expect(payload).toMatchObject({ iss: 'me', sub: upstream.url });
      expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'k1' });
    }
  });
});

describe('hmac', () => {
  it('signs each request with what it is made of, and each attempt anew', async () => {
    const seen = new Set<string>();
    accepts = ({ method, url, headers }) => {
      const { pathname, search } = new URL(url, upstream.url);
      const [stamp = '', nonce = '', signature = ''] = (headers['x-sign'] ?? '').split(';');
      const text = [method, pathname, search.slice(1), '', stamp, nonce].join('\n');
      const isRight = createHmac('sha256', key).update(text).digest('base64') === signature;
      const isRecent = Math.abs(Date.now() / 1000 - Number(stamp)) < 30;
      const isNew = !seen.has(nonce);
      seen.add(nonce);
      return isRight && isRecent && isNew;
    };
    const connection = await connect({
      kind: 'hmac',
      algorithm: 'sha256',
      encoding: 'base64',
      secret: '{{ secrets.key }}',
      stringToSign: '{{ method }}\n{{ path }}\n{{ query }}\n{{ body }}\n{{ timestamp }}\n{{ nonce }}',
      headers: { 'X-Sign': '{{ timestamp }};{{ nonce }};{{ signature }}' },
    });
    upstream.failAt(upstream.journal.length + 3, { kind: 'status', status: 503 });
    expect(await connection.sync('one')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 1000 } });
    expect(seen.size).toBe(11);
  });
});

const clientCredentials = (changes: Readonly<Record<string, unknown>> = {}) => ({
  kind: 'oauth2_client_credentials',
  tokenUrl: '{{ params.tokenUrl }}',
  clientId: 'client',
  clientSecret: '{{ secrets.clientSecret }}',
  scopes: ['read:a', 'read:b'],
  params: { audience: 'api' },
  ...changes,
});

interface Connection {
  /** Resolves with the final row of a new run. */
  sync(resource: 'one' | 'two'): Promise<RunRow>;
  status(): Promise<string>;
}

let connections = 0;

async function connect(auth: unknown, own: Readonly<Record<string, unknown>> = {}): Promise<Connection> {
  const { call, workspaceId } = stack.org;
  const destination = await openAuditedDestination();
  connections += 1;
  const specKey = `auth-${connections}`;
  const ask = async (method: string, path: string, body?: unknown) => {
    const reply = await call(method, path, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
    return reply.body;
  };
  await ask('POST', '/specs', specDocument(specKey, auth, own));
  await ask('POST', `/specs/${specKey}/versions/1.0.0/publish`);
  const { id } = await ask('POST', '/connections', {
    workspaceId,
    specKey,
    specVersion: '1.0.0',
    displayName: specKey,
    params: { apiUrl: upstream.url, tokenUrl: oauth.tokenUrl },
    secrets: { clientSecret, key, databaseUrl: destination.url },
  });
  await ask('POST', `/connections/${id}/activate`);
  return {
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

const specDocument = (specKey: string, auth: unknown, own: Readonly<Record<string, unknown>>) => ({
  metadata: { key: specKey, name: specKey, version: '1.0.0' },
  connectionParams: [
    { key: 'apiUrl', type: 'url' },
    { key: 'tokenUrl', type: 'url' },
    ...['clientSecret', 'key', 'databaseUrl'].map((name) => ({ key: name, type: 'string', secret: true })),
  ],
  auth,
  http: { baseUrl: '{{ params.apiUrl }}', rateLimit: { requests: 10_000 }, retry: { baseMs: 10 } },
  resources: ['one', 'two'].map((name) => ({
    key: name,
    primaryKey: 'id',
    ...(own[name] === undefined ? {} : { auth: own[name] }),
    request: { path: `/cursor/${name}`, query: { per_page: '{{ page.size }}' } },
    response: { records: 'data' },
    pagination: { kind: 'cursor', next: 'body.next_cursor', size: 100, inject: { in: 'query', name: 'cursor' } },
    target: { table: name },
  })),
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});
