/**
 * Events to webhook endpoints with the whole service: how many in a second, with a row for each attempt; how long from
 * the commit of an event to its arrival; how long a redelivery takes to be accepted.
 */
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../test/support/service/eventually.ts';
import { type Stack, startStack } from '../test/support/service/stack.ts';
import { unusedPort } from '../test/support/service/temporal-dev-server.ts';
import { createEndpoint, emit, type TestEndpoint } from '../test/support/webhooks/endpoints.ts';

const started = new AsyncDisposableStack();
const arrivals = new Map<string, number>();
const results: Record<string, unknown>[] = [];
let stack: Stack;
let receiverUrl: string;

beforeAll(async () => {
  const port = await unusedPort();
  receiverUrl = `http://127.0.0.1:${port}`;
  // As bare as a receiver can be: what is measured is who sends.
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const id = String(request.headers['webhook-id']);
      if (!arrivals.has(id)) arrivals.set(id, performance.now());
      response.writeHead(204).end();
    });
  }).listen(port, '127.0.0.1');
  started.defer(() => void server.close());
  stack = started.use(await startStack({ allow: [`127.0.0.1:${port}`] }));
}, 60_000);
afterAll(() => started.disposeAsync());

const endpointOf = (name: string, maxInFlight: number): Promise<TestEndpoint> =>
  createEndpoint(stack, { url: (path) => `${receiverUrl}/${path}` }, { name, maxInFlight });

const remove = ({ id }: TestEndpoint) => stack.org.call('DELETE', `/webhook-endpoints/${id}`);

const percentile = (values: readonly number[], share: number): number =>
  Math.round(values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN);

it.each([
  [1, 10],
  [1, 64],
  [4, 32],
])('events per second, %d endpoints with %d requests at once', async (endpoints, maxInFlight) => {
  const perEndpoint = 4000 / endpoints;
  const all = await Promise.all(Array.from({ length: endpoints }, (_, n) => endpointOf(`fast-${n}`, maxInFlight)));
  // A first event opens sockets and compiles what is hot.
  await emit(stack);
  for (const endpoint of all) await eventually('it is warm', async () => (await endpoint.queue())['succeeded'] === 1);
  // Queued while the endpoints are paused, so that nothing but sending is measured.
  await stack.db
    .updateTable('webhookEndpoints')
    .set({ pausedUntil: new Date(Date.now() + 600_000).toISOString() })
    .execute();
  await emit(stack, perEndpoint);
  await stack.db.updateTable('webhookEndpoints').set({ pausedUntil: null }).execute();
  const startedAt = performance.now();
  for (const { id } of all) await stack.org.call('PATCH', `/webhook-endpoints/${id}`, { body: { enabled: true } });
  const isTaken = async () =>
    (await Promise.all(all.map((endpoint) => endpoint.queue()))).every(
      (queue) => queue['succeeded'] === perEndpoint + 1,
    );
  await eventually('all are taken', isTaken, { timeoutMs: 120_000, everyMs: 100 });
  const seconds = (performance.now() - startedAt) / 1000;
  const { count } = await stack.db
    .selectFrom('webhookDeliveries')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where(
      'endpointId',
      'in',
      all.map(({ id }) => id),
    )
    .where('delivered', '=', true)
    .executeTakeFirstOrThrow();
  expect(count).toBe((perEndpoint + 1) * endpoints);
  await Promise.all(all.map(remove));
  results.push({
    what: `${endpoints} endpoint(s), ${maxInFlight} at once each`,
    result: Math.round((perEndpoint * endpoints) / seconds),
    unit: 'events/s',
    goal: '>= 1000',
  });
});

it('from commit to arrival at 50 events a second', async () => {
  const endpoint = await endpointOf('latency', 10);
  const committed = new Map<string, number>();
  const sending: Promise<void>[] = [];
  for (let n = 0; n < 1000; n += 1) {
    sending.push(
      (async () => {
        const begun = performance.now();
        for (const id of await emit(stack)) committed.set(id, begun);
      })(),
    );
    await sleep(20);
  }
  await Promise.all(sending);
  await eventually('all are taken', async () => (await endpoint.queue())['succeeded'] === 1000);
  const times = [...committed].map(([id, at]) => (arrivals.get(id) ?? Number.NaN) - at);
  expect(times.every((ms) => ms > 0)).toBe(true);
  await remove(endpoint);
  results.push({ what: 'begin of the transaction to arrival, p50', result: percentile(times, 0.5), unit: 'ms' });
  results.push({ what: 'the same, p95', result: percentile(times, 0.95), unit: 'ms', goal: '<= 500' });
});

it('redelivery accepted', async () => {
  const endpoint = await endpointOf('redelivered', 10);
  await emit(stack);
  await eventually('it is taken', async () => (await endpoint.queue())['succeeded'] === 1);
  const [delivery] = await endpoint.attempts();
  const times: number[] = [];
  for (let n = 0; n < 300; n += 1) {
    const begun = performance.now();
    await endpoint.redeliver(delivery?.id ?? '');
    times.push(performance.now() - begun);
    await sleep(20);
  }
  await remove(endpoint);
  results.push({ what: 'redeliver, 202, p95', result: percentile(times, 0.95), unit: 'ms', goal: '<= 50' });
});

it('in one table', () => {
  process.stdout.write('\n');
  console.table(results);
  expect(results).toHaveLength(6);
});
