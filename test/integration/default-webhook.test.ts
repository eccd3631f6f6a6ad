/** A webhook as DEFAULT_DESTINATION: orgs learn the origin of the operator's URL, and the operator learns whose records come. */
import { afterAll, expect, it } from 'vitest';
import { startReceiver } from '../support/destinations/webhook-receiver.ts';
import { figure } from '../support/security/figure.ts';
import { useStack } from '../support/service/use-stack.ts';
import { connectTable } from '../support/sync/table-sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const signingSecret = `whsec_${Buffer.from('the secret of the operator').toString('base64')}`;
const receiver = await startReceiver(signingSecret);
afterAll(() => receiver[Symbol.asyncDispose]());

const { origin } = new URL(receiver.url);
const hidden = ['OPERATOR-PATH-SECRET', 'OPERATOR-QUERY', 'OPERATOR-HEADER'];
const url = `${origin}/ingest/OPERATOR-PATH-SECRET?k=OPERATOR-QUERY`;
const headers = { 'x-operator': 'OPERATOR-HEADER' };

const shared = useStack(
  {
    collections: {
      accepted: generateRecords(3),
      refused: generateRecords(3),
      fatal: generateRecords(3),
      ended: generateRecords(3),
    },
  },
  {
    allow: [receiver.hostPort],
    env: { DEFAULT_DESTINATION: JSON.stringify({ kind: 'webhook', url, signingSecret, headers }) },
  },
);

const refusing = () => ({ body: { rejected: [{ externalId: 'r000002', message: `not at ${url}` }] } });

it.each([
  ['that accepts', 'accepted', 'succeeded', () => ({ body: { seen: url } })],
  ['that refuses a record', 'refused', 'partial', refusing],
  ['that refuses a record, which ends the run', 'fatal', 'failed', refusing],
  [
    'that fails for good and sends its address back',
    'ended',
    'failed',
    () => ({
      status: 301,
      headers: { location: `${url}&again=1`, 'x-path': '/ingest/OPERATOR-PATH-SECRET' },
      body: url,
    }),
  ],
])('no org sees more of a default receiver than its origin: one %s', async (_case, collection, status, reply) => {
  const { stack, upstream } = shared();
  const { call, orgId } = stack.org;
  receiver.reply(reply);
  const { connectionId, sync } = await connectTable(stack.org, upstream, {
    collection,
    resource: { onInvalid: collection === 'fatal' ? 'fail' : 'quarantine' },
  });
  const run = await sync();
  expect(run.status, JSON.stringify(run.error)).toBe(status);
  const calls = (await call('GET', `/runs/${run.id}/calls`)).body;
  const posts = calls.filter((one: { readonly method: string }) => one.method === 'POST');
  expect(posts).toMatchObject([{ url: origin }]);
  const tested = await call('POST', `/connections/${connectionId}/test`, { body: {} });
  const quarantined = await call('GET', `/quarantine?connectionId=${connectionId}`);
  const deliveries = await call('GET', '/webhook-deliveries');
  const texts = [run, calls, tested.body, quarantined.body, deliveries.body].map((shown) => JSON.stringify(shown));
  const found = texts.filter((text) => hidden.some((secret) => text.includes(secret)));
  figure('operatorUrl', { count: found.length, of: texts.length });
  expect(found).toEqual([]);
  expect(receiver.posts.at(-1)?.batch).toMatchObject({ orgId, connectionId, resourceKey: collection });
});
