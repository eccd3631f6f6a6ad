import { expect, it } from 'vitest';
import { dumpTables, searchForSecrets } from '../support/security/planted-secrets.ts';
import { useStack } from '../support/service/use-stack.ts';
import { connectCustomer } from '../support/sync/customer.ts';

const planted = { apiKey: 'S3CR3T/source-api-key/0123456789' };
const { apiKey } = planted;

/** Sends a key back where its words or its addresses become the error of a run. */
const shared = useStack({
  reply: ({ url }) => {
    const { pathname } = new URL(url, 'http://upstream');
    if (pathname === '/linked') {
      const next = `/of/${encodeURIComponent(apiKey)}/2`;
      return { body: JSON.stringify({ data: [{ id: 1 }], next }) };
    }
    if (pathname === '/said')
      return { body: JSON.stringify({ ok: false, data: [], message: `The key ${apiKey} is disabled` }) };
    return { status: 403, body: '{}' };
  },
});

it.each([
  { key: 'linked', response: { records: 'data' }, pagination: { kind: 'next_url', next: 'body.next' } },
  { key: 'said', response: { records: 'data', successWhen: 'body.ok ? true : $error(body.message)' } },
])('the error of a run shows no key that the API sends back: $key', async ({ key, ...resource }) => {
  const { stack, upstream } = shared();
  const customer = await connectCustomer(stack, {
    document: {
      metadata: { key, name: key, version: '1.0.0' },
      connectionParams: [{ key: 'apiKey', type: 'string', secret: true }],
      auth: { kind: 'bearer', token: '{{ secrets.apiKey }}' },
      http: { baseUrl: upstream.url, retry: { maxAttempts: 1 } },
      resources: [{ key, primaryKey: 'id', request: { path: `/${key}` }, ...resource }],
    },
    params: {},
    secrets: planted,
  });
  const run = await customer.sync(key);
  expect(run.error?.message).toContain('[redacted]');
  const { body: test } = await stack.org.call('POST', `/connections/${customer.connectionId}/test?resource=${key}`);
  const { body: events } = await stack.org.call('GET', '/events');
  const places = {
    run: JSON.stringify(run),
    test: JSON.stringify(test),
    events: JSON.stringify(events),
    tables: await dumpTables(stack),
    log: stack.tails(),
    calls: JSON.stringify(await customer.calls(run.id)),
  };
  expect(searchForSecrets(places, planted)).toEqual([]);
});
