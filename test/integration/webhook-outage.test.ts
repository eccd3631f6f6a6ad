import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { createEndpoint, deleteEndpoints, emit, type TestEndpoint } from '../support/webhooks/endpoints.ts';
import { type EventReceiver, startEventReceiver, verified } from '../support/webhooks/event-receiver.ts';

const started = new AsyncDisposableStack();
let receiver: EventReceiver;
let other: EventReceiver;
let stack: Stack;

beforeAll(async () => {
  receiver = started.use(await startEventReceiver());
  other = started.use(await startEventReceiver());
  stack = started.use(await startStack({ allow: [receiver.hostPort, other.hostPort] }));
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
  await deleteEndpoints(stack);
});
afterAll(() => started.disposeAsync());

const isProbed = (endpoint: TestEndpoint) =>
  eventually('it is probed', async () => (await endpoint.row()).state === 'probing');
const succeeded = (endpoint: TestEndpoint, count: number) =>
  eventually(`${count} are taken`, async () => (await endpoint.queue())['succeeded'] === count, { timeoutMs: 75_000 });
const down = () => ({ status: 500, body: '' });

test('a receiver that is down gets few requests, and all that waited as soon as it is back: once, in order', async () => {
  const count = 200;
  const inOrder = await createEndpoint(stack, receiver, { name: 'in-order', ordering: 'fifo' });
  const atOnce = await createEndpoint(stack, receiver, { name: 'at-once', maxInFlight: 8 });
  receiver.reply('at-once', down);
  receiver.reply('in-order', down);
  const first = await emit(stack, count);
  await isProbed(atOnce);
  const beforeProbes = receiver.events('at-once').length;
  expect(beforeProbes).toBeLessThanOrEqual(8);
  const untouched = await stack.db
    .selectFrom('webhookMessages')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('endpointId', '=', atOnce.id)
    .where('attempts', '=', 0)
    .executeTakeFirstOrThrow();
  expect(untouched.count).toBe(count - beforeProbes);
  // One after the other, it is not probed before the fifth attempt of its first event: half an hour by the schedule.
  await stack.db.updateTable('webhookEndpoints').set({ consecutiveFailures: 4 }).where('id', '=', inOrder.id).execute();
  await isProbed(inOrder);

  const whileDown = receiver.events('at-once').length;
  for (const name of ['at-once', 'in-order']) receiver.reply(name, () => undefined);
  const beforeIn = receiver.events('in-order').length;
  await succeeded(atOnce, count);
  await succeeded(inOrder, count);
  const taken = receiver
    .events('at-once')
    .slice(whileDown)
    .map(({ id }) => id);
  expect(taken.toSorted()).toEqual(first.toSorted());
  expect(taken[0]).toBe(first[0]);
  expect(
    receiver
      .events('in-order')
      .slice(beforeIn)
      .map(({ id }) => id),
  ).toEqual(first);
  expect(await atOnce.row()).toMatchObject({ state: 'ok', firstFailureAt: null });
});

test('an endpoint that fails for as long as an event is tried is switched off, and the others are notified of it', async () => {
  const watching = await createEndpoint(stack, receiver, { name: 'watching', eventTypes: ['endpoint.disabled'] });
  const endpoint = await createEndpoint(stack, receiver, { name: 'lost', maxInFlight: 5 });
  receiver.reply('lost', down);
  await emit(stack, 9);
  await isProbed(endpoint);
  const firstFailureAt = new Date(Date.now() - 76 * 3_600_000).toISOString();
  await stack.db.updateTable('webhookEndpoints').set({ firstFailureAt }).where('id', '=', endpoint.id).execute();
  await eventually('it is off', async () => !(await endpoint.row()).enabled);
  expect(await endpoint.row()).toMatchObject({ state: 'disabled', disabledReason: 'failing' });
  expect(await endpoint.queue()).toEqual({ skipped: 9 });
  const [told] = await eventually('the other is told', async () => {
    const events = receiver.events('watching');
    return events.length > 0 && events;
  });
  expect(told && verified(told, watching.secret)).toMatchObject({
    data: { endpointId: endpoint.id, reason: 'failing', failingSince: firstFailureAt, skipped: 9 },
  });
});

test('an endpoint that hangs slows no other one down', async () => {
  const count = 300;
  const hanging = await createEndpoint(stack, other, { name: 'hanging', maxInFlight: 64, timeoutMs: 30_000 });
  const quick = await createEndpoint(stack, receiver, { name: 'quick' });
  other.upstream.pause();
  await emit(stack, count);
  await succeeded(quick, count);
  expect(await hanging.queue()).toEqual({ pending: count });
  expect(other.upstream.journal.every(({ responseAt }) => responseAt === null)).toBe(true);
  other.upstream.resume();
  await succeeded(hanging, count);
});
