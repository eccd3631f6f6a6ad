import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Canaries, startCanaries } from '../support/security/canaries.ts';
import { figure } from '../support/security/figure.ts';
import { loopbackSpellings } from '../support/security/loopback-spellings.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { startUpstream, type Upstream } from '../support/upstream/upstream.ts';

const started = new AsyncDisposableStack();
let canaries: Canaries;
let upstream: Upstream;
let stack: Stack;
let spellings: Awaited<ReturnType<typeof loopbackSpellings>>;

beforeAll(async () => {
  canaries = started.use(await startCanaries());
  spellings = await loopbackSpellings(canaries);
  upstream = started.use(
    await startUpstream({
      reply: ({ url }) => {
        const to = new URL(url, 'http://upstream').searchParams.get('to');
        return to === null ? { body: '[]' } : { status: 302, headers: { location: to }, body: '' };
      },
    }),
  );
  // Plain http is allowed, so that the address is what has to stop a request.
  stack = started.use(await startStack({ allow: [upstream.hostPort], env: { EGRESS_ALLOW_HTTP: '1' } }));
});
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
});
afterAll(() => started.disposeAsync());

describe('listeners on loopback', () => {
  it('are reached by every spelling when nothing guards', () => {
    expect(canaries.addresses).toContain('127.0.0.1');
    expect(spellings.urls.length).toBeGreaterThan(20);
    expect(spellings.hosts.length).toBeGreaterThan(5);
    expect(canaries.hits()).toBeGreaterThanOrEqual(spellings.urls.length);
  });

  it.each<[string, SpecParts]>([
    ['the base URL of a spec', { http: { baseUrl: '{{ params.target }}' } }],
    ['a redirect of an API', { request: { path: '/redirect', query: { to: '{{ params.target }}' } } }],
    [
      'the token URL of an OAuth client',
      {
        auth: {
          kind: 'oauth2_client_credentials',
          tokenUrl: '{{ params.target }}',
          clientId: 'client',
          clientSecret: 'secret',
        },
      },
    ],
    [
      'the address of a webhook destination',
      {
        destination: {
          kind: 'webhook',
          url: '{{ params.target }}',
          signingSecret: `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
        },
      },
    ],
  ])('are not reached through %s', async (_name, parts) => {
    await expectSilence(
      spellings.urls,
      async (url, specKey) => {
        const connectionId = await connect(specKey, { target: url });
        if (connectionId !== null) expectRejection(await stack.org.call('POST', `/connections/${connectionId}/test`));
      },
      parts,
    );
  });

  it.each(['postgres', 'sqlserver'])('are not reached through the host of a %s destination', async (kind) => {
    const fields = { host: '{{ params.target }}', port: canaries.port, database: 'd', user: 'u', password: 'p' };
    await expectSilence(
      spellings.hosts,
      async (host, specKey) => {
        const connectionId = await connect(specKey, { target: host });
        if (connectionId !== null) expectRejection(await stack.org.call('POST', `/connections/${connectionId}/test`));
      },
      { destination: { kind, ...fields } },
    );
  });

  it('are not reached through the token URL of an OAuth authorization', async () => {
    const auth = {
      kind: 'oauth2_authorization_code',
      authorizeUrl: 'https://93.184.215.14/authorize',
      tokenUrl: '{{ params.target }}',
      clientId: 'client',
    };
    await expectSilence(
      spellings.urls,
      async (url, specKey) => {
        const connectionId = await connect(specKey, { target: url });
        if (connectionId === null) return;
        const { status, body } = await stack.org.call('GET', `/oauth/${connectionId}/authorize`);
        if (status !== 200) return;
        const state = new URL(body.authorizeUrl).searchParams.get('state');
        const reply = await stack.org.call('GET', `/oauth/callback?code=x&state=${state}`);
        expect(reply.status).toBe(409);
      },
      { auth: { ...auth, clientAuth: 'none' } },
    );
  });

  it('are not reached through the URL of a webhook endpoint', async () => {
    await expectSilence(spellings.urls, async (url) => {
      const { status, body } = await stack.org.call('POST', '/webhook-endpoints', { body: { url } });
      expect([400, 201]).toContain(status);
      if (status === 400) return;
      const { body: delivery } = await stack.org.call('POST', `/webhook-endpoints/${body.id}/test`);
      const tried = await eventually('the delivery ends', async () => {
        const { body: read } = await stack.org.call('GET', `/webhook-deliveries/${delivery.id}`);
        return read.errorCode !== null && read;
      });
      expect(tried.errorCode).toBe('egress_blocked');
    });
  });
});

/** What a surface has otherwise than the harmless spec. */
type SpecParts = Readonly<Record<string, unknown>>;

let surfaces = 0;

/** Tries each spelling on one surface, and counts what the listeners heard meanwhile. */
async function expectSilence(
  targets: readonly string[],
  attack: (target: string, specKey: string) => Promise<void>,
  parts: SpecParts = {},
): Promise<void> {
  surfaces += 1;
  const specKey = `surface-${surfaces}`;
  await publish(specKey, parts);
  const before = canaries.hits();
  for (const target of targets) await attack(target, specKey);
  const received = canaries.hits() - before;
  figure('canariesReached', { count: received, of: targets.length });
  expect(received).toBe(0);
}

async function publish(specKey: string, { request = { path: '/' }, ...parts }: SpecParts): Promise<void> {
  const spec = {
    metadata: { key: specKey, name: specKey, version: '1.0.0' },
    connectionParams: [{ key: 'target', type: 'string' }],
    auth: { kind: 'none' },
    http: { baseUrl: upstream.url },
    resources: [{ key: 'items', primaryKey: 'id', request, target: { table: 'items' } }],
    destination: { kind: 'postgres', url: 'postgres://u:p@93.184.215.14/d' },
    ...parts,
  };
  for (const [path, body] of [
    ['/specs', spec],
    [`/specs/${specKey}/versions/1.0.0/publish`, undefined],
  ] as const) {
    const reply = await stack.org.call('POST', path, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
  }
}

/** A connection with these params; null: they are refused already. */
async function connect(specKey: string, params: SpecParts): Promise<string | null> {
  const { workspaceId, call } = stack.org;
  const names = { workspaceId, specKey, specVersion: '1.0.0', displayName: specKey };
  const { status, body } = await call('POST', '/connections', { body: { ...names, params, secrets: {} } });
  expect([201, 400], JSON.stringify(body)).toContain(status);
  return status === 201 ? body.id : null;
}

/** A test of a connection that says which of its steps failed. */
function expectRejection({
  status,
  body,
}: {
  readonly status: number;
  readonly body: { readonly ok?: unknown };
}): void {
  expect({ status, ok: body.ok }).toEqual({ status: 200, ok: false });
}
