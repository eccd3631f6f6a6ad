/** A request that may not be made is in the call log, once, whatever refused it and wherever its address came from. */
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { connectCustomer } from '../support/sync/customer.ts';
import { createScriptedApi, type ScriptedReply } from '../support/upstream/scripted-api.ts';

const scripted = createScriptedApi();
const shared = useStack({ reply: scripted.reply });

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
    expect(calls).toMatchObject([{ url: logged, statusCode: null, attempt: 1, method: 'GET' }]);
  });
});

let connections = 0;

/** A run against an API at `baseUrl`, and its call log. */
async function runOf(baseUrl: string) {
  const { stack } = shared();
  const { call } = stack.org;
  connections += 1;
  const { connectionId } = await connectCustomer(stack, {
    document: specDocument(`blocked-${connections}`),
    params: { baseUrl },
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

const specDocument = (key: string) => ({
  metadata: { key, name: 'Blocked', version: '1.0.0' },
  connectionParams: [{ key: 'baseUrl', type: 'string' }],
  http: { baseUrl: '{{ params.baseUrl }}', allowedHosts, rateLimit: { requests: 1000, perSeconds: 1 } },
  resources: [
    {
      key: 'items',
      primaryKey: 'id',
      request: { path: '/items' },
      response: { records: 'data' },
      pagination: { kind: 'next_url', next: 'body.next' },
    },
  ],
});
