import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { createPayloadCodec } from '../../src/core/crypto/payload-codec.ts';
import { eventTypes } from '../../src/core/resources/event-types.ts';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { dumpTables, echoesOf, searchForSecrets } from '../support/security/planted-secrets.ts';
import { eventually } from '../support/service/eventually.ts';
import { changePayloads } from '../support/service/payloads.ts';
import type { Stack } from '../support/service/stack.ts';
import { useStack } from '../support/service/use-stack.ts';

/** Planted where a spec may use secrets; no two share a part. */
const planted = {
  headerKey: 'hk/Zm9vYmFy+quux"1',
  bearer: 'br-7f3a%20&wobble=1',
  user: 'us:olivia@example',
  password: 'pw-Ünïcode ~ tilde',
  queryKey: 'qk?1=2#frag-mark',
  databasePassword: 'unused-db-pass/42',
  clientSecret: 'cs:Grüße+&%/secret client',
  signingKey: 'sk-0123456789.abcdefghijklmnopqrstuvwxyz',
  privateKey: String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  ),
};

/** What the fake API gives for them; no connection ever holds these. */
const issued = { token: 'tk-Qm9nb3RhIQ/1+2', session: 'se;ssion "77" of-olivia', metadata: 'no-secret-at-all' };

/** What an upstream may respond with whatever it was sent: in a record, an invalid record, an error, a header. */
const echoes = ['record', 'invalid', 'refusal'] as const;

/** The signing secret of a webhook endpoint that is notified of everything, and responds with all it knows. */
let signingSecret = '';

/** Every spelling of everything planted, whichever of it this upstream was sent. */
const spelled = Object.values(planted).flatMap(echoesOf);

const shared = useStack({
  reply: ({ url, headers, body, nth }) => {
    const [, kind] = url.split(/[/?]/);
    const sent = { url, headers, body };
    if (kind === 'hook') return { body: JSON.stringify({ sent, mine: echoesOf(signingSecret) }) };
    if (kind === 'token') return { body: JSON.stringify({ access_token: issued.token, plan: issued.metadata, sent }) };
    if (kind === 'login') return { headers: { 'x-sid': issued.session }, body: JSON.stringify({ sent }) };
    if (!echoes.some((known) => known === kind)) return undefined;
    const echo = { id: kind === 'invalid' ? null : nth, url, headers, again: JSON.stringify(headers), spelled };
    const withHeader = { 'x-echo': `${headers['authorization'] ?? ''} ${headers['x-api-key'] ?? ''}` };
    if (kind === 'refusal') return { status: 400, headers: withHeader, body: JSON.stringify({ error: echo }) };
    return { headers: withHeader, body: JSON.stringify([echo]) };
  },
});

beforeAll(async () => {
  const { stack, upstream } = shared();
  const body = { url: `${upstream.url}/hook`, eventTypes };
  signingSecret = (await stack.org.call('POST', '/webhook-endpoints', { body })).body.secret;
});

describe('planted secrets', () => {
  it.each(authKinds())(
    'of auth $kind reach no response, log, event, delivery, table or history',
    async ({ kind, auth }) => {
      const { stack } = shared();
      const connectionId = await connect(kind, auth(shared().upstream.url));
      for (const resource of echoes) await syncToEnd(connectionId, resource);
      const places = {
        ...(await responsesAbout(stack, connectionId)),
        logs: stack.tails(),
        ...(await eventsAbout(stack, connectionId)),
        tables: await dumpTables(stack),
        histories: await histories(stack, connectionId),
      };
      // The search itself must be able to find something.
      expect(places.tables).toContain(connectionId);
      expect(places.histories).toContain(connectionId);
      expect(places.events).toContain('run.failed');
      expect(places.deliveries).toContain('[redacted]');
      const { metadata: _shown, ...secret } = issued;
      expect(signingSecret).toMatch(/^whsec_/);
      expect(searchForSecrets(places, { ...planted, ...secret, signingSecret })).toEqual([]);
    },
  );
});

/** With the address of the fake API. */
type AuthAt = (url: string) => Readonly<Record<string, unknown>>;

function authKinds(): readonly { readonly kind: string; readonly auth: AuthAt }[] {
  const clientCredentials =
    (clientAuth: string, clientSecret: string): AuthAt =>
    (url) => ({
      kind: 'oauth2_client_credentials',
      tokenUrl: `${url}/token?again={{ secrets.queryKey }}`,
      clientId: '{{ secrets.user }}',
      clientSecret,
      clientAuth,
      params: { pair: "{{ secrets.user & ':' & secrets.password }}" },
      tokenResponse: { metadata: { plan: 'plan' } },
    });
  const jwt = { kind: 'jwt', claims: { sub: '{{ secrets.user }}' } };
  return [
    {
      kind: 'api-key-header',
      auth: () => ({ kind: 'api_key', in: 'header', name: 'x-api-key', value: '{{ secrets.headerKey }}' }),
    },
    {
      kind: 'api-key-query',
      auth: () => ({ kind: 'api_key', in: 'query', name: 'k', value: '{{ secrets.queryKey }}' }),
    },
    { kind: 'bearer', auth: () => ({ kind: 'bearer', token: '{{ secrets.bearer }}' }) },
    {
      kind: 'basic',
      auth: () => ({ kind: 'basic', username: '{{ secrets.user }}', password: '{{ secrets.password }}' }),
    },
    {
      kind: 'headers',
      auth: () => ({
        kind: 'headers',
        headers: { 'x-one': 'a {{ secrets.headerKey }}', 'x-two': '{{ secrets.bearer }}' },
      }),
    },
    { kind: 'client-basic', auth: clientCredentials('basic', '{{ secrets.clientSecret }}') },
    { kind: 'client-post', auth: clientCredentials('post', '{{ secrets.clientSecret }}') },
    { kind: 'client-key', auth: clientCredentials('private_key_jwt', '{{ secrets.privateKey }}') },
    {
      kind: 'session',
      auth: () => ({
        kind: 'session',
        login: {
          method: 'POST',
          path: '/login',
          query: { k: '{{ secrets.queryKey }}' },
          body: { json: { user: '{{ secrets.user }}', pair: "{{ secrets.user & '/' & secrets.password }}" } },
        },
        tokenFrom: "headers.'x-sid'",
        put: { in: 'query', name: 'q', prefix: '' },
      }),
    },
    { kind: 'jwt', auth: () => ({ ...jwt, algorithm: 'HS256', key: '{{ secrets.signingKey }}' }) },
    {
      kind: 'jwt-exchange',
      auth: (url) => ({
        ...jwt,
        algorithm: 'ES256',
        key: '{{ secrets.privateKey }}',
        exchange: { tokenUrl: `${url}/token` },
      }),
    },
    {
      kind: 'hmac',
      auth: () => ({
        kind: 'hmac',
        algorithm: 'sha512',
        secret: '{{ secrets.signingKey }}',
        stringToSign: '{{ path }}{{ timestamp }}',
        headers: { 'x-api-key': '{{ secrets.headerKey }}', 'x-sig': '{{ signature }}' },
      }),
    },
  ];
}

async function connect(kind: string, auth: Readonly<Record<string, unknown>>): Promise<string> {
  const { stack, upstream } = shared();
  const { call, workspaceId } = stack.org;
  const destination = await openAuditedDestination();
  const resource = (key: string) => ({
    key,
    primaryKey: 'id',
    request: { path: `/${key}` },
    onInvalid: 'quarantine',
    target: { table: key },
  });
  const spec = {
    metadata: { key: kind, name: kind, version: '1.0.0' },
    connectionParams: [
      ...Object.keys(planted).map((key) => ({ key, type: 'string', secret: true })),
      { key: 'databaseUrl', type: 'string', secret: true },
    ],
    auth,
    http: { baseUrl: upstream.url },
    resources: echoes.map(resource),
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
  };
  const ask = async (path: string, body?: unknown) => {
    const reply = await call('POST', path, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
    return reply.body;
  };
  await ask('/specs', spec);
  await ask(`/specs/${kind}/versions/1.0.0/publish`);
  const { id } = await ask('/connections', {
    workspaceId,
    specKey: kind,
    specVersion: '1.0.0',
    displayName: kind,
    params: {},
    secrets: { ...planted, databaseUrl: destination.url },
  });
  await ask(`/connections/${id}/activate`);
  return id;
}

async function syncToEnd(connectionId: string, resource: string): Promise<void> {
  const { call } = shared().stack.org;
  const { body } = await call('POST', `/connections/${connectionId}/sync`, { body: { resource } });
  const run = await eventually('the run ends', async () => {
    const row = (await call('GET', `/runs/${body.id}`)).body;
    return row.finishedAt !== null && row;
  });
  expect(run.status).toBe({ record: 'succeeded', invalid: 'partial', refusal: 'failed' }[resource]);
}

async function responsesAbout(stack: Stack, connectionId: string): Promise<Record<string, string>> {
  const { call } = stack.org;
  const read = async (path: string) => JSON.stringify((await call('GET', path)).body);
  const runs: readonly { readonly id: string }[] = (await call('GET', `/runs?connectionId=${connectionId}`)).body;
  expect(runs).toHaveLength(echoes.length);
  return {
    connection: await read(`/connections/${connectionId}`),
    connections: await read('/connections'),
    runs: JSON.stringify(runs),
    calls: (await Promise.all(runs.map(({ id }) => read(`/runs/${id}/calls`)))).join('\n'),
    quarantine: await read(`/quarantine?connectionId=${connectionId}`),
  };
}

/** What the webhook endpoint got about a connection, and what the log says of it. */
async function eventsAbout({ org, db }: Stack, connectionId: string): Promise<Record<'events' | 'deliveries', string>> {
  const deliveries = await eventually('every event is delivered', async () => {
    const events = await db.selectFrom('webhookEvents').select('id').where('connectionId', '=', connectionId).execute();
    const rows = await db
      .selectFrom('webhookDeliveries')
      .select('id')
      .where('connectionId', '=', connectionId)
      .where('delivered', '=', true)
      .execute();
    return rows.length >= events.length && rows;
  });
  const details = deliveries.map(async ({ id }) => (await org.call('GET', `/webhook-deliveries/${id}`)).body);
  const posted = shared().upstream.journal.filter(({ url, body }) => url === '/hook' && body.includes(connectionId));
  return {
    // Its own secret is in no request; the signature made with it is.
    events: JSON.stringify(posted.map(({ headers, body }) => ({ headers, body }))),
    deliveries: JSON.stringify(await Promise.all(details)),
  };
}

/** The histories of a connection's runs, with their payloads decoded. */
async function histories({ temporal, db, keyRing }: Stack, connectionId: string): Promise<string> {
  const runs = await db
    .selectFrom('runs')
    .select(['id', 'resourceKey'])
    .where('connectionId', '=', connectionId)
    .execute();
  const texts = runs.map(async ({ id, resourceKey }) => {
    const handle = temporal.client.workflow.getHandle(`sync:${connectionId}:${resourceKey}:${id}`);
    const decoded = (_key: string, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : value;
    const history = await changePayloads(await handle.fetchHistory(), createPayloadCodec(keyRing).decode);
    return JSON.stringify({ history, info: await handle.describe() }, (key, value) =>
      typeof value === 'bigint' ? String(value) : decoded(key, value),
    );
  });
  return (await Promise.all(texts)).join('\n');
}
