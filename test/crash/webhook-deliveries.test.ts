import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { WebhookDeliveryView } from '../../src/core/resources/webhook-delivery.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import {
  createEndpoint,
  deleteEndpoints,
  emit,
  recordEvents,
  type TestEndpoint,
} from '../support/webhooks/endpoints.ts';
import { type EventReceiver, startEventReceiver, verified } from '../support/webhooks/event-receiver.ts';

const started = new AsyncDisposableStack();
let receiver: EventReceiver;
let stack: Stack;

beforeAll(async () => {
  receiver = started.use(await startEventReceiver());
  stack = started.use(await startStack({ allow: [receiver.hostPort] }));
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
  receiver.upstream.resume();
  await deleteEndpoints(stack);
});
afterAll(() => started.disposeAsync());

/** A lease has to run out: 20 s with these settings, and more on a busy machine. */

/** A lease outlives the timeout of a request: a short one makes for a short wait. */
const settings = { maxInFlight: 50, timeoutMs: 5000 };

/** An endpoint with one event that it has taken; the delivery of it. */
async function deliveredOnce(name: string): Promise<{ readonly endpoint: TestEndpoint; readonly deliveryId: string }> {
  const endpoint = await createEndpoint(stack, receiver, { name, ...settings });
  await emit(stack);
  const [attempt] = await allDone(endpoint, 1);
  return { endpoint, deliveryId: attempt?.id ?? '' };
}

const allDone = (endpoint: TestEndpoint, count: number) =>
  eventually(
    `${count} attempts are delivered`,
    async () => {
      const attempts = await endpoint.attempts();
      return attempts.filter(({ delivered }) => delivered).length === count && attempts;
    },
    { timeoutMs: 90_000, everyMs: 250 },
  );

const requestsTo = (name: string) => receiver.upstream.journal.filter(({ url }) => url === `/${name}`);
const inProgress = (name: string, count: number) =>
  eventually(`${count} requests are under way`, async () => requestsTo(name).length === count);

describe('of a worker that was killed while it sent', () => {
  let redelivered: Awaited<ReturnType<typeof deliveredOnce>>;
  let asked: readonly WebhookDeliveryView[];
  /** Of another org. */
  let unknown: TestEndpoint;
  let eventId: string | undefined;

  // Both wait for a lease to run out: one kill, one wait.
  beforeAll(async () => {
    redelivered = await deliveredOnce('redelivered');
    const { endpoint, deliveryId } = redelivered;
    const other = { ...stack, org: await stack.newOrg() };
    unknown = await createEndpoint(other, receiver, { name: 'unknown', ...settings });
    receiver.upstream.pause();
    asked = await Promise.all(Array.from({ length: 50 }, () => endpoint.redeliver(deliveryId)));
    [eventId] = await emit(other);
    await inProgress('redelivered', 51);
    await inProgress('unknown', 1);
    await stack.killWorker('SIGKILL');
    receiver.upstream.resume();
    await stack.startWorker();
  });

  test('each of 50 redeliveries is sent by another worker, in its own row and under the same id', async () => {
    const { endpoint, deliveryId } = redelivered;
    const attempts = await allDone(endpoint, 51);
    expect(attempts).toHaveLength(51);
    expect(attempts.map(({ id }) => id).toSorted()).toEqual([deliveryId, ...asked.map(({ id }) => id)].toSorted());
    const events = receiver.events('redelivered');
    for (const event of events) verified(event, endpoint.secret);
    expect(new Set(events.map(({ id, sha256 }) => `${id} ${sha256}`)).size).toBe(1);
    const sentAgain = events.map(({ headers }) => headers['x-service-delivery-id']);
    for (const { id } of asked) expect(sentAgain.filter((sent) => sent === id)).toHaveLength(2);
  });

  test('the log says that the outcome of an event is unknown, and it is sent in a new row', async () => {
    expect(await allDone(unknown, 1)).toMatchObject([
      { eventId, attempt: 1, state: 'unknown', errorCode: 'unknown_outcome', statusCode: null, delivered: false },
      { eventId, attempt: 2, state: 'done', delivered: true },
    ]);
    const [first, second] = receiver.events('unknown');
    expect(second).toMatchObject({ id: first?.id, sha256: first?.sha256 });
  });
});

test('a worker that is stopped while an event is sent waits for the response, and nothing is sent twice', async () => {
  const endpoint = await createEndpoint(stack, receiver, { name: 'stopped', ...settings });
  receiver.upstream.pause();
  await emit(stack);
  await inProgress('stopped', 1);
  const stopped = stack.killWorker('SIGTERM');
  await stack.worker().logged('STOPPING');
  receiver.upstream.resume();
  await stopped;
  expect(await endpoint.attempts()).toMatchObject([{ state: 'done', delivered: true }]);
  expect(stack.worker().exitCode()).toBe(0);
  await stack.startWorker();
  await emit(stack);
  await allDone(endpoint, 2);
  expect(requestsTo('stopped')).toHaveLength(2);
});

test('what is asked for while no worker runs is sent exactly once when one does', async () => {
  const { endpoint, deliveryId } = await deliveredOnce('waiting');
  await stack.killWorker('SIGTERM');
  const { id } = await endpoint.redeliver(deliveryId);
  expect((await endpoint.attempts()).at(-1)).toMatchObject({ id, state: 'queued', statusCode: null, delivered: false });
  await stack.startWorker();
  await allDone(endpoint, 2);
  expect(requestsTo('waiting')).toHaveLength(2);
});

test('what is asked for while Temporal is away is sent when it is back', async () => {
  const { endpoint, deliveryId } = await deliveredOnce('away');
  await stack.temporal.stop();
  const { id } = await endpoint.redeliver(deliveryId);
  expect((await endpoint.attempts()).at(-1)).toMatchObject({ id, state: 'queued' });
  await stack.temporal.start();
  await allDone(endpoint, 2);
  expect(requestsTo('away')).toHaveLength(2);
});

test('the sweeper finds and sends an event whose wake-up was lost', async () => {
  const endpoint = await createEndpoint(stack, receiver, { name: 'untold', ...settings });
  const [eventId] = await recordEvents(stack, 1);
  expect(await allDone(endpoint, 1)).toMatchObject([{ eventId, attempt: 1 }]);
});
