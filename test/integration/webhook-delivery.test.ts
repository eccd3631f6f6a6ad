import { createPublicKey, verify } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventTypes } from '../../src/core/resources/event-types.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import { createEndpoint, deleteEndpoints, emit, emitTypes, type TestEndpoint } from '../support/webhooks/endpoints.ts';
import {
  type EventReceiver,
  type ReceivedEvent,
  startEventReceiver,
  verified,
} from '../support/webhooks/event-receiver.ts';

const started = new AsyncDisposableStack();
let receiver: EventReceiver;
let stack: Stack;
let closedPort: number;

beforeAll(async () => {
  receiver = started.use(await startEventReceiver());
  closedPort = await unusedPort();
  const env = { WEBHOOK_RETRY_SCHEDULE_SECONDS: '1,1,600' };
  stack = started.use(await startStack({ allow: [receiver.hostPort, `127.0.0.1:${closedPort}`], env }));
}, 60_000);
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
  receiver.upstream.resume();
  await deleteEndpoints(stack);
});
afterAll(() => started.disposeAsync());

const endpointOf = (name: string, settings = {}): Promise<TestEndpoint> =>
  createEndpoint(stack, receiver, { name, ...settings });

/** Resolves when so many requests have come to the endpoint. */
const received = (name: string, count: number): Promise<readonly ReceivedEvent[]> =>
  eventually(`${count} requests to ${name}`, async () => {
    const events = receiver.events(name);
    return events.length >= count && events;
  });

const queued = (endpoint: TestEndpoint, expected: Readonly<Record<string, number>>) =>
  eventually(`the queue is ${JSON.stringify(expected)}`, async () => {
    const queue = await endpoint.queue();
    return JSON.stringify(queue) === JSON.stringify(expected);
  });

/** Answers the statuses in turn, then 204. */
function replyInTurn(name: string, ...statuses: readonly number[]): void {
  let turn = 0;
  receiver.reply(name, () => {
    const status = statuses[turn];
    turn += 1;
    return status === undefined ? undefined : { status, body: `${status}` };
  });
}

describe('an event', () => {
  test('arrives signed, and again until it is taken: the same bytes under the same id, a row for each request', async () => {
    const endpoint = await endpointOf('retried');
    replyInTurn('retried', 500, 503);
    const [eventId] = await emit(stack);
    const events = await received('retried', 3);
    await queued(endpoint, { succeeded: 1 });
    for (const event of events) {
      expect(verified(event, endpoint.secret)).toMatchObject({ id: eventId, type: 'spec.published' });
    }
    expect(new Set(events.map(({ id, sha256 }) => `${id} ${sha256}`)).size).toBe(1);
    const attempts = await endpoint.attempts();
    expect(attempts).toMatchObject([
      { attempt: 1, state: 'done', statusCode: 500, delivered: false, errorCode: 'http_status', responseBody: '500' },
      { attempt: 2, state: 'done', statusCode: 503, delivered: false, errorCode: 'http_status' },
      { attempt: 3, state: 'done', statusCode: 204, delivered: true, errorCode: null, nextAttemptAt: null },
    ]);
    expect(attempts.map(({ id }) => id)).toEqual(events.map(({ headers }) => headers['x-service-delivery-id']));
    expect(events.map(({ headers }) => headers['x-service-attempt'])).toEqual(['1', '2', '3']);
    expect(attempts[0]?.requestHeaders).toMatchObject({ 'webhook-id': eventId, 'webhook-signature': 'v1,***' });
    expect(attempts[0]?.payload).toBe(events[0]?.body);
    expect(await endpoint.row()).toMatchObject({ state: 'ok', firstFailureAt: null });
  });

  test.for([
    ['redirected', 307, 'redirect'],
    ['refused', 400, 'http_status'],
    ['unauthorized', 401, 'http_status'],
    ['too-many', 429, 'http_status'],
    ['broken', 500, 'http_status'],
  ] as const)('that is %s with %i is sent again (%s)', async ([name, status, errorCode]) => {
    const endpoint = await endpointOf(name);
    replyInTurn(name, status);
    await emit(stack);
    await received(name, 2);
    await queued(endpoint, { succeeded: 1 });
    expect(await endpoint.attempts()).toMatchObject([
      { statusCode: status, delivered: false, errorCode },
      { statusCode: 204, delivered: true },
    ]);
  });

  test('that gets no whole answer in time is sent again, whatever was missing', async () => {
    const endpoint = await endpointOf('silent', { timeoutMs: 1000 });
    const next = () => receiver.upstream.journal.length + 1;
    receiver.reply('silent', () => ({ status: 200, body: 'a long answer, byte by byte' }));
    const gate = receiver.upstream.hold(next());
    receiver.upstream.failAt(next() + 1, { kind: 'drip', bytes: 1, everyMs: 100 });
    receiver.upstream.failAt(next() + 2, { kind: 'reset', when: 'before' });
    await emit(stack);
    await queued(endpoint, { pending: 1 });
    await received('silent', 2);
    gate.release();
    await eventually('three attempts are over', async () => {
      const attempts = await endpoint.attempts();
      return attempts.filter(({ state }) => state === 'done').length === 3;
    });
    expect(await endpoint.attempts()).toMatchObject([
      { statusCode: null, errorCode: 'timeout', delivered: false },
      { statusCode: 200, errorCode: 'body_too_slow', delivered: false },
      { statusCode: null, errorCode: 'connection_reset', delivered: false },
    ]);
  });

  test('for which no connection comes about is sent again, the row says why', async () => {
    const refused = await endpointOf('refused-connection', { url: `http://127.0.0.1:${closedPort}/` });
    const noTls = await endpointOf('no-tls', { url: receiver.url('no-tls').replace('http:', 'https:') });
    await emit(stack);
    await queued(refused, { pending: 1 });
    const firstOf = (endpoint: TestEndpoint) =>
      eventually('an attempt is over', async () => (await endpoint.attempts()).find(({ state }) => state === 'done'));
    expect(await firstOf(refused)).toMatchObject({ statusCode: null, errorCode: 'connect_refused' });
    expect(await firstOf(noTls)).toMatchObject({ statusCode: null, errorCode: 'tls_error' });
    expect(receiver.events('no-tls')).toEqual([]);
  });

  test('to an address that the guard refuses is not sent, and not tried again', async () => {
    const endpoint = await endpointOf('blocked');
    await stack.db
      .updateTable('webhookEndpoints')
      .set({ url: 'http://169.254.169.254/' })
      .where('id', '=', endpoint.id)
      .execute();
    await emit(stack);
    await queued(endpoint, { exhausted: 1 });
    expect(await endpoint.attempts()).toMatchObject([{ statusCode: null, errorCode: 'egress_blocked', state: 'done' }]);
  });

  test('with an answer of 10 MB is delivered, and 16 KiB of it are kept', async () => {
    const endpoint = await endpointOf('huge');
    receiver.reply('huge', () => ({ status: 200, body: 'x' }));
    receiver.upstream.failAt(receiver.upstream.journal.length + 1, { kind: 'huge', bytes: 10_000_000 });
    await emit(stack);
    await queued(endpoint, { succeeded: 1 });
    const [attempt] = await endpoint.attempts();
    expect(attempt).toMatchObject({ statusCode: 200, delivered: true });
    expect(attempt?.responseBody).toHaveLength(16_384);
  });

  test('that fails every time ends as exhausted; the others hear of the endpoint at its fourth failure', async () => {
    const other = await endpointOf('watching', { eventTypes: ['endpoint.failing'] });
    const endpoint = await endpointOf('hopeless');
    receiver.reply('hopeless', () => ({ status: 500, body: '' }));
    await emit(stack);
    await received('hopeless', 3);
    await queued(endpoint, { pending: 1 });
    await eventually('three attempts are over', async () => (await endpoint.attempts())[2]?.state === 'done');
    expect(receiver.events('watching')).toEqual([]);
    await stack.db
      .updateTable('webhookMessages')
      .set({ nextAttemptAt: new Date().toISOString() })
      .where('endpointId', '=', endpoint.id)
      .execute();
    await stack.org.call('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { description: 'wakes it' } });
    await queued(endpoint, { exhausted: 1 });
    const [told] = await received('watching', 1);
    expect(told && verified(told, other.secret)).toMatchObject({
      type: 'endpoint.failing',
      data: { endpointId: endpoint.id, lastStatusCode: 500, pending: 0 },
    });
  });

  test('that the receiver does not want is not sent again', async () => {
    const endpoint = await endpointOf('unwanted');
    receiver.reply('unwanted', ({ nth }) =>
      nth === first ? { status: 500, headers: { 'webhook-delivery': 'abort-message' }, body: '' } : undefined,
    );
    const first = receiver.upstream.journal.length + 1;
    await emit(stack);
    await queued(endpoint, { canceled: 1 });
    await emit(stack);
    await queued(endpoint, { canceled: 1, succeeded: 1 });
    expect(receiver.events('unwanted')).toHaveLength(2);
  });
});

describe('an endpoint', () => {
  test.for([
    ['gone', { status: 410, body: '' }],
    ['no-more', { status: 200, headers: { 'webhook-delivery': 'disable' }, body: '' }],
  ] as const)(
    'that says so (%s) is switched off; what waits is skipped, and the others hear of it',
    async ([name, reply]) => {
      const other = await endpointOf(`${name}-watching`, { eventTypes: ['endpoint.disabled'] });
      const endpoint = await endpointOf(name, { maxInFlight: 1 });
      receiver.reply(name, () => reply);
      await emit(stack, 3);
      await queued(endpoint, reply.status === 410 ? { canceled: 1, skipped: 2 } : { skipped: 2, succeeded: 1 });
      expect(await endpoint.row()).toMatchObject({ enabled: false, disabledReason: 'gone', state: 'disabled' });
      const [told] = await received(`${name}-watching`, 1);
      expect(told && verified(told, other.secret)).toMatchObject({
        type: 'endpoint.disabled',
        data: { endpointId: endpoint.id, reason: 'gone', skipped: 2 },
      });
      await emit(stack);
      await queued(endpoint, reply.status === 410 ? { canceled: 1, skipped: 3 } : { skipped: 3, succeeded: 1 });
      expect(receiver.events(name)).toHaveLength(1);
    },
  );

  test('that asks to be left alone for a while is', async () => {
    const endpoint = await endpointOf('busy', { maxInFlight: 1 });
    let turn = 0;
    receiver.reply('busy', () => {
      turn += 1;
      return turn === 1 ? { status: 503, headers: { 'retry-after': '3' }, body: '' } : undefined;
    });
    await emit(stack, 3);
    await eventually('it is paused', async () => (await endpoint.row()).state === 'paused');
    expect(receiver.events('busy')).toHaveLength(1);
    await queued(endpoint, { succeeded: 3 });
    const [first, second] = receiver.events('busy');
    expect((second?.receivedAt ?? 0) - (first?.receivedAt ?? 0)).toBeGreaterThan(2900);
  });

  test('gets no more requests at once than it takes', async () => {
    const endpoint = await endpointOf('narrow', { maxInFlight: 3 });
    receiver.upstream.pause();
    await emit(stack, 10);
    await eventually('three are under way', async () => {
      const attempts = await endpoint.attempts();
      return attempts.filter(({ state }) => state === 'sending').length === 3 && attempts.length === 3;
    });
    receiver.upstream.resume();
    await queued(endpoint, { succeeded: 10 });
    const underWay = receiver.upstream.journal.filter(({ url }) => url === '/narrow');
    const atOnce = underWay.map(
      ({ receivedAt }) =>
        underWay.filter((other) => other.receivedAt <= receivedAt && (other.responseAt ?? 0) > receivedAt).length,
    );
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(3);
  });

  test('gets no more requests in a second than it takes', async () => {
    const endpoint = await endpointOf('slow', { rateLimitPerSecond: 5 });
    await emit(stack, 11);
    await queued(endpoint, { succeeded: 11 });
    const times = receiver.events('slow').map(({ receivedAt }) => receivedAt);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(1800);
  });

  test('that wants one after the other gets them so: the next waits until the one before is taken', async () => {
    const endpoint = await endpointOf('fifo', { ordering: 'fifo' });
    replyInTurn('fifo', 204, 500, 500);
    const ids = await emit(stack, 4);
    await queued(endpoint, { succeeded: 4 });
    const [a, b, c, d] = ids;
    expect(receiver.events('fifo').map(({ id }) => id)).toEqual([a, b, b, b, c, d]);
  });

  test('that is switched off by hand is sent nothing, and gets what waited when it is on again', async () => {
    const endpoint = await endpointOf('manual');
    receiver.reply('manual', () => ({ status: 500, body: '' }));
    await emit(stack);
    await received('manual', 1);
    const path = `/webhook-endpoints/${endpoint.id}`;
    await stack.org.call('PATCH', path, { body: { enabled: false } });
    await emit(stack);
    await eventually('nothing is under way', async () =>
      (await endpoint.attempts()).every(({ state }) => state === 'done'),
    );
    const before = receiver.events('manual').length;
    receiver.reply('manual', () => undefined);
    await stack.org.call('PATCH', path, { body: { enabled: true } });
    await queued(endpoint, { skipped: 1, succeeded: 1 });
    expect(receiver.events('manual')).toHaveLength(before + 1);
  });
});

describe('a redelivery', () => {
  test('sends the same bytes under the same id, once for each call, and counts on', async () => {
    const endpoint = await endpointOf('again');
    await emit(stack);
    await queued(endpoint, { succeeded: 1 });
    const [first] = await endpoint.attempts();
    const asked = await Promise.all([endpoint.redeliver(first?.id ?? ''), endpoint.redeliver(first?.id ?? '')]);
    expect(asked).toMatchObject([
      { statusCode: null, delivered: false },
      { statusCode: null, delivered: false },
    ]);
    const events = await received('again', 3);
    for (const event of events) expect(verified(event, endpoint.secret)).toMatchObject({ id: event.id });
    expect(new Set(events.map(({ id, sha256 }) => `${id} ${sha256}`)).size).toBe(1);
    expect(events.map(({ headers }) => headers['x-service-redelivery'])).toEqual(['false', 'true', 'true']);
    await eventually('both are over', async () =>
      (await endpoint.attempts()).every(({ state, delivered }) => state === 'done' && delivered),
    );
    const attempts = await endpoint.attempts();
    expect(new Set(attempts.map(({ attempt }) => attempt))).toEqual(new Set([1, 2, 3]));
    expect(
      attempts
        .slice(1)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(asked.map(({ id }) => id).sort());
  });

  test('that fails leaves the schedule alone; one that succeeds ends it', async () => {
    const endpoint = await endpointOf('by-hand');
    receiver.reply('by-hand', () => ({ status: 500, body: '' }));
    await emit(stack);
    await received('by-hand', 3);
    await eventually('three attempts are over', async () => (await endpoint.attempts())[2]?.state === 'done');
    const messageOf = () =>
      stack.db
        .selectFrom('webhookMessages')
        .select(['status', 'attempts', 'nextAttemptAt'])
        .where('endpointId', '=', endpoint.id)
        .executeTakeFirstOrThrow();
    const before = await messageOf();
    expect(before).toMatchObject({ status: 'pending', attempts: 3 });
    const [first] = await endpoint.attempts();
    await endpoint.redeliver(first?.id ?? '');
    await eventually('the fourth is over', async () => (await endpoint.attempts())[3]?.state === 'done');
    expect(await messageOf()).toEqual(before);
    receiver.reply('by-hand', () => undefined);
    await endpoint.redeliver(first?.id ?? '');
    await queued(endpoint, { succeeded: 1 });
    expect(await messageOf()).toMatchObject({ status: 'succeeded', attempts: 3, nextAttemptAt: null });
  });

  test('reaches an endpoint that is off, and does not switch it on', async () => {
    const endpoint = await endpointOf('off');
    await emit(stack);
    await queued(endpoint, { succeeded: 1 });
    await stack.org.call('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { enabled: false } });
    const [first] = await endpoint.attempts();
    await endpoint.redeliver(first?.id ?? '');
    await received('off', 2);
    expect(await endpoint.row()).toMatchObject({ enabled: false, state: 'disabled' });
  });

  test('is signed with the secret of now', async () => {
    const endpoint = await endpointOf('rotated');
    await emit(stack);
    await queued(endpoint, { succeeded: 1 });
    const { body } = await stack.org.call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, {
      body: { overlapSeconds: 0 },
    });
    const [first] = await endpoint.attempts();
    await endpoint.redeliver(first?.id ?? '');
    const [, again] = await received('rotated', 2);
    if (!again) throw new Error('two have come');
    verified(again, body.secret);
    expect(() => verified(again, endpoint.secret)).toThrow(/No matching signature/);
  });
});

test('while a secret is replaced, what is sent is verified with the old and with the new one', async () => {
  const endpoint = await endpointOf('overlap');
  const { body } = await stack.org.call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`);
  replyInTurn('overlap', 500);
  await emit(stack);
  for (const event of await received('overlap', 2)) {
    for (const secret of [endpoint.secret, body.secret])
      expect(verified(event, secret)).toMatchObject({ id: event.id });
  }
});

test('every type is verified on its first delivery, its retry and its redelivery while the secret is replaced', async () => {
  // One failure more in a row, and an endpoint is only probed.
  const perEndpoint = 4;
  const groups = Array.from({ length: Math.ceil(eventTypes.length / perEndpoint) }, (_, n) => ({
    name: `types-${n}`,
    types: eventTypes.slice(n * perEndpoint, (n + 1) * perEndpoint),
  }));
  const endpoints = await Promise.all(groups.map(({ name, types }) => endpointOf(name, { eventTypes: types })));
  for (const { name, types } of groups) replyInTurn(name, ...types.map(() => 500));
  await emitTypes(stack, eventTypes);
  const seen = await Promise.all(
    groups.map(async ({ name, types }, n) => {
      const endpoint = endpoints[n];
      if (!endpoint) throw new Error('each group has its endpoint');
      await queued(endpoint, { succeeded: types.length });
      for (const event of receiver.events(name)) verified(event, endpoint.secret);
      const { body } = await stack.org.call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`);
      const taken = (await endpoint.attempts()).filter(({ delivered }) => delivered);
      for (const { id } of taken) await endpoint.redeliver(id);
      const events = await received(name, 3 * types.length);
      for (const event of events.slice(2 * types.length)) {
        for (const secret of [endpoint.secret, body.secret]) verified(event, secret);
      }
      expect(new Set(events.map(({ id, sha256 }) => `${id} ${sha256}`)).size).toBe(types.length);
      return events.map(({ type }) => type);
    }),
  );
  const times = (type: string) => seen.flat().filter((one) => one === type).length;
  expect(eventTypes.map((type) => [type, times(type)])).toEqual(eventTypes.map((type) => [type, 3]));
});

test('an endpoint that wants it gets signatures by its public key too', async () => {
  const endpoint = await endpointOf('keys', { signatureSchemes: ['v1', 'v1a'] });
  const { publicKey } = await endpoint.row();
  await emit(stack);
  const [event] = await received('keys', 1);
  if (!event) throw new Error('one has come');
  verified(event, endpoint.secret);
  const x = Buffer.from((publicKey ?? '').slice('whpk_'.length), 'base64').toString('base64url');
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } });
  const { 'webhook-signature': signatures = '', 'webhook-timestamp': timestamp } = event.headers;
  const signature = Buffer.from(/v1a,(\S+)/.exec(signatures)?.[1] ?? '', 'base64');
  expect(verify(null, Buffer.from(`${event.id}.${timestamp}.${event.body}`), key, signature)).toBe(true);
});

test('a test of an endpoint reaches it and no other', async () => {
  await endpointOf('untested');
  const endpoint = await endpointOf('tested');
  const { body } = await stack.org.call('POST', `/webhook-endpoints/${endpoint.id}/test`);
  const [event] = await received('tested', 1);
  expect(event && verified(event, endpoint.secret)).toMatchObject({ type: 'webhook.test' });
  expect(event?.headers).toMatchObject({ 'x-service-delivery-id': body.id, 'x-service-redelivery': 'false' });
  expect(receiver.events('untested')).toEqual([]);
});
