/** A request that may not be made is in the call log, once, whatever refused it and wherever its address came from. */
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { connectCustomer } from '../support/sync/customer.ts';
import { createScriptedApi, type ScriptedReply } from '../support/upstream/scripted-api.ts';

const scripted = createScriptedApi();
const shared = useSharedService({ reply: scripted.reply });

/** Addresses that are refused although their hosts are in `allowedHosts`, and one whose host is not. */
const refused = [
  { what: 'a port that is refused', url: 'http://127.0.0.1:9/x', logged: 'http://127.0.0.1:9/x' },
  { what: 'a private address of a listed host', url: 'http://127.0.0.1/x', logged: 'http://127.0.0.1/x' },
  { what: 'a private address', url: 'https://10.0.0.1/x', logged: 'https://10.0.0.1/x' },
  { what: 'a name of a private address', url: 'https://localhost/x', logged: 'https://localhost/x' },
  { what: 'a host that is not listed', url: 'https://evil.example/x', logged: 'https://evil.example/x' },
  { what: 'a user name', url: 'http://someone@127.0.0.1:9/x', logged: 'http://127.0.0.1:9/x' },
];
const allowedHosts = ['127.0.0.1', '10.0.0.1', 'localhost'];

describe.each(refused)('an address with $what', ({ url, logged }) => {
  const replies: readonly (readonly [place: string, reply: ScriptedReply])[] = [
    ['next link', { body: { data: [{ id: '1' }], next: url } }],
    ['redirect', { status: 302, headers: { location: url } }],
  ];
  it.each(replies)('in a %s has one row in the call log', async (_place, reply) => {
    scripted.serve('items', () => reply);
    const { upstream } = shared();
    const { status, error, calls } = await runOf(upstream.url);
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'egress_blocked' });
    // The link may be followed before the page that has it is logged.
    expect(calls).toHaveLength(2);
    expect(calls).toContainEqual(
      expect.objectContaining({ url: `${upstream.url}/items`, statusCode: reply.status ?? 200, attempt: 1 }),
    );
    expect(calls).toContainEqual(expect.objectContaining({ url: logged, statusCode: null, attempt: 1, method: 'GET' }));
  });
});

describe('a base URL', () => {
  it.each([
    ['http://127.0.0.1:9', 'http://127.0.0.1:9/items'],
    ['https://10.0.0.1', 'https://10.0.0.1/items'],
    ['https://localhost', 'https://localhost/items'],
    ['file://127.0.0.1/etc/passwd', 'file://127.0.0.1/etc/passwd'],
    ['gopher://127.0.0.1:70/', 'gopher://127.0.0.1:70'],
    ['http://someone@127.0.0.1:9/', 'http://127.0.0.1:9/'],
  ])('%s that is refused has one row in the call log', async (baseUrl, logged) => {
    const { status, error, calls } = await runOf(baseUrl);
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'egress_blocked' });
    expect(calls).toMatchObject([
      { url: logged, statusCode: null, errorCode: 'egress_blocked', attempt: 1, method: 'GET' },
    ]);
  });
});

const records = { body: { data: [{ id: '1' }] } };
const put = { in: 'header', name: 'X-Token' };
const hookSecret = `whsec_${Buffer.from('a secret of at least 24 bytes').toString('base64')}`;

/** Every other part of a spec that names an address. */
const parts: readonly (readonly [part: string, of: (url: string) => Parts])[] = [
  ['a resource', (url) => ({ resource: { request: { url } } })],
  ['an enrichment', (url) => ({ resource: { enrich: [{ assignTo: 'more', request: { url } }] } })],
  [
    'a lookup table',
    (url) => ({
      spec: { lookups: [{ kind: 'request', assignTo: 'codes', request: { url }, keyBy: 'id' }] },
      resource: { transform: '{ "id": id, "code": $lookups.codes }' },
    }),
  ],
  ['a list of the deleted', (url) => ({ resource: { deletes: { mode: 'endpoint', request: { url }, key: 'id' } } })],
  [
    'a token endpoint',
    (url) => ({
      spec: { auth: { kind: 'oauth2_client_credentials', tokenUrl: url, clientId: 'c', clientSecret: 's' } },
    }),
  ],
  [
    'a token exchange',
    (url) => ({
      spec: { auth: { kind: 'jwt', algorithm: 'HS256', key: 'k'.repeat(32), claims: {}, exchange: { tokenUrl: url } } },
    }),
  ],
  ['a login', (url) => ({ spec: { auth: { kind: 'session', login: { url }, tokenFrom: 'body.token', put } } })],
  ['a webhook destination', (url) => ({ spec: { destination: { kind: 'webhook', url, signingSecret: hookSecret } } })],
];

/** A template, as what is written out is refused when it is stored. */
const addressTemplate = '{{ params.address }}';

async function expectBlocked(address: string, own: Parts): Promise<void> {
  scripted.serve('items', () => records);
  const { status, error, calls } = await runOf(shared().upstream.url, { ...own, address });
  expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'egress_blocked' });
  const blocked = calls.filter((call: { readonly statusCode: number | null }) => call.statusCode === null);
  expect(blocked).toMatchObject([{ url: address.replace('user@', ''), attempt: 1 }]);
}

describe.each(parts)('the address of %s', (_part, of) => {
  it.each(['https://10.0.0.1/x', 'https://user@hooks.example/x'])(
    'that is refused ends the run, with one row in the call log: %s',
    async (url) => await expectBlocked(url, of(addressTemplate)),
  );
});

it('the address of a token endpoint with a user name ends the run although nobody has authorized it', async () => {
  const [authorizeUrl, clientId, clientSecret] = ['https://login.example/authorize', 'c', 's'];
  const auth = { kind: 'oauth2_authorization_code', authorizeUrl, tokenUrl: addressTemplate, clientId, clientSecret };
  await expectBlocked('https://user@hooks.example/x', { spec: { auth } });
});

interface Parts {
  readonly resource?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  /** The value of `params.address`. */
  readonly address?: string;
}

let connections = 0;

/** A run against an API at `baseUrl`, and its call log. */
async function runOf(baseUrl: string, { address = '', ...own }: Parts = {}) {
  const { stack } = shared();
  const { call } = stack.org;
  connections += 1;
  const { connectionId } = await connectCustomer(stack, {
    document: specDocument(`blocked-${connections}`, own),
    keepsDestination: own.spec?.['destination'] !== undefined,
    params: { baseUrl, address },
    secrets: {},
  });
  const { body: run } = await call('POST', `/connections/${connectionId}/sync`, { body: { resource: 'items' } });
  const ended = await eventually('the run ends', async () => {
    const { body } = await call('GET', `/runs/${run.id}`);
    return body.finishedAt !== null && body;
  });
  const { body: calls } = await call('GET', `/runs/${run.id}/calls`);
  return { ...ended, calls };
}

const specDocument = (key: string, { resource, spec }: Parts) => ({
  metadata: { key, name: 'Blocked', version: '1.0.0' },
  connectionParams: ['baseUrl', 'address'].map((name) => ({ key: name, type: 'string' })),
  http: { baseUrl: '{{ params.baseUrl }}', allowedHosts, rateLimit: { requests: 1000, perSeconds: 1 } },
  resources: [
    {
      key: 'items',
      primaryKey: 'id',
      request: { path: '/items' },
      response: { records: 'data' },
      pagination: { kind: 'next_url', next: 'body.next' },
      ...resource,
    },
  ],
  ...spec,
});
