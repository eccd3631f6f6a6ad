import { describe, expect, test } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import type { Stack } from '../support/service/stack.ts';
import { emit, type TestEndpoint } from '../support/webhooks/endpoints.ts';
import { type EventReceiver, verified } from '../support/webhooks/event-receiver.ts';
import { useEventStack } from '../support/webhooks/event-stack.ts';

let receiver: EventReceiver;
let stack: Stack;
let closedPort: number;
const endpointOf = useEventStack((started) => {
  ({ receiver, stack, closedPort } = started);
});

describe('an event', () => {
  test('arrives signed, and again until it is taken: the same bytes under the same id, a row for each request', async () => {
    const endpoint = await endpointOf('retried');
    receiver.replyInTurn('retried', 500, 503);
    const [eventId] = await emit(stack);
    const events = await receiver.received('retried', 3);
    await endpoint.queued({ succeeded: 1 });
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
    receiver.replyInTurn(name, status);
    await emit(stack);
    await receiver.received(name, 2);
    await endpoint.queued({ succeeded: 1 });
    expect(await endpoint.attempts()).toMatchObject([
      { statusCode: status, delivered: false, errorCode },
      { statusCode: 204, delivered: true },
    ]);
  });

  test('that gets no whole response in time is sent again, whatever was missing', async () => {
    const endpoint = await endpointOf('silent', { timeoutMs: 1000 });
    const next = () => receiver.upstream.journal.length + 1;
    receiver.reply('silent', () => ({ status: 200, body: 'a long response, byte by byte' }));
    const gate = receiver.upstream.hold(next());
    receiver.upstream.failAt(next() + 1, { kind: 'drip', bytes: 1, everyMs: 100 });
    receiver.upstream.failAt(next() + 2, { kind: 'reset', when: 'before' });
    await emit(stack);
    await endpoint.queued({ pending: 1 });
    await receiver.received('silent', 2);
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
    await refused.queued({ pending: 1 });
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
    await endpoint.queued({ exhausted: 1 });
    expect(await endpoint.attempts()).toMatchObject([{ statusCode: null, errorCode: 'egress_blocked', state: 'done' }]);
  });

  test('with a response of 10 MB is delivered, and 16 KiB of it are kept', async () => {
    const endpoint = await endpointOf('huge');
    receiver.reply('huge', () => ({ status: 200, body: 'x' }));
    receiver.upstream.failAt(receiver.upstream.journal.length + 1, { kind: 'huge', bytes: 10_000_000 });
    await emit(stack);
    await endpoint.queued({ succeeded: 1 });
    const [attempt] = await endpoint.attempts();
    expect(attempt).toMatchObject({ statusCode: 200, delivered: true });
    expect(attempt?.responseBody).toHaveLength(16_384);
  });

  test('that fails every time ends as exhausted; the others are notified of the endpoint at its fourth failure', async () => {
    const other = await endpointOf('watching', { eventTypes: ['endpoint.failing'] });
    const endpoint = await endpointOf('hopeless');
    receiver.reply('hopeless', () => ({ status: 500, body: '' }));
    await emit(stack);
    await receiver.received('hopeless', 3);
    await endpoint.queued({ pending: 1 });
    await eventually('three attempts are over', async () => (await endpoint.attempts())[2]?.state === 'done');
    expect(receiver.events('watching')).toEqual([]);
    await stack.db
      .updateTable('webhookMessages')
      .set({ nextAttemptAt: new Date().toISOString() })
      .where('endpointId', '=', endpoint.id)
      .execute();
    await stack.org.call('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { description: 'wakes it' } });
    await endpoint.queued({ exhausted: 1 });
    const [told] = await receiver.received('watching', 1);
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
    await endpoint.queued({ canceled: 1 });
    await emit(stack);
    await endpoint.queued({ canceled: 1, succeeded: 1 });
    expect(receiver.events('unwanted')).toHaveLength(2);
  });
});

describe('an endpoint', () => {
  test.for([
    ['gone', { status: 410, body: '' }],
    ['no-more', { status: 200, headers: { 'webhook-delivery': 'disable' }, body: '' }],
  ] as const)(
    'is disabled when it requests it (%s); its pending events are skipped, and the other endpoints get an event',
    async ([name, reply]) => {
      const other = await endpointOf(`${name}-watching`, { eventTypes: ['endpoint.disabled'] });
      const endpoint = await endpointOf(name, { maxInFlight: 1 });
      receiver.reply(name, () => reply);
      await emit(stack, 3);
      await endpoint.queued(reply.status === 410 ? { canceled: 1, skipped: 2 } : { skipped: 2, succeeded: 1 });
      expect(await endpoint.row()).toMatchObject({ enabled: false, disabledReason: 'gone', state: 'disabled' });
      const [told] = await receiver.received(`${name}-watching`, 1);
      expect(told && verified(told, other.secret)).toMatchObject({
        type: 'endpoint.disabled',
        data: { endpointId: endpoint.id, reason: 'gone', skipped: 2 },
      });
      await emit(stack);
      await endpoint.queued(reply.status === 410 ? { canceled: 1, skipped: 3 } : { skipped: 3, succeeded: 1 });
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
    await endpoint.queued({ succeeded: 3 });
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
    await endpoint.queued({ succeeded: 10 });
    const inProgress = receiver.upstream.journal.filter(({ url }) => url === '/narrow');
    const atOnce = inProgress.map(
      ({ receivedAt }) =>
        inProgress.filter((other) => other.receivedAt <= receivedAt && (other.responseAt ?? 0) > receivedAt).length,
    );
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(3);
  });

  test('gets no more requests in a second than it takes', async () => {
    const endpoint = await endpointOf('slow', { rateLimitPerSecond: 5 });
    await emit(stack, 11);
    await endpoint.queued({ succeeded: 11 });
    const times = receiver.events('slow').map(({ receivedAt }) => receivedAt);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(1800);
  });

  test('that wants one after the other gets them so: the next waits until the one before is taken', async () => {
    const endpoint = await endpointOf('fifo', { ordering: 'fifo' });
    receiver.replyInTurn('fifo', 204, 500, 500);
    const ids = await emit(stack, 4);
    await endpoint.queued({ succeeded: 4 });
    const [a, b, c, d] = ids;
    expect(receiver.events('fifo').map(({ id }) => id)).toEqual([a, b, b, b, c, d]);
  });

  test('that is switched off by hand is sent nothing, and gets what waited when it is on again', async () => {
    const endpoint = await endpointOf('manual');
    receiver.reply('manual', () => ({ status: 500, body: '' }));
    await emit(stack);
    await receiver.received('manual', 1);
    const path = `/webhook-endpoints/${endpoint.id}`;
    const enable = async (enabled: boolean) =>
      expect(await stack.org.call('PATCH', path, { body: { enabled } })).toMatchObject({ status: 200 });
    await enable(false);
    await emit(stack);
    await eventually('nothing is under way', async () =>
      (await endpoint.attempts()).every(({ state }) => state === 'done'),
    );
    const before = receiver.events('manual').length;
    receiver.reply('manual', () => undefined);
    await enable(true);
    // The check that is under way may be lost with its task: Temporal repeats it.
    await endpoint.queued({ skipped: 1, succeeded: 1 }, 90_000);
    expect(receiver.events('manual')).toHaveLength(before + 1);
  });

  test.for([
    ['switched-on', false],
    ['off-and-on', true],
  ] as const)('that is %s gets at once what waits for its retry (off before: %s)', async ([name, switchedOff]) => {
    const endpoint = await endpointOf(name);
    receiver.replyInTurn(name, 500, 500, 500);
    await emit(stack);
    await eventually('it waits for its third retry, for 10 minutes', async () => {
      const attempts = await endpoint.attempts();
      return attempts.length === 3 && attempts.every(({ state }) => state === 'done');
    });
    const path = `/webhook-endpoints/${endpoint.id}`;
    if (switchedOff) await stack.org.call('PATCH', path, { body: { enabled: false } });
    await stack.org.call('PATCH', path, { body: { enabled: true } });
    await endpoint.queued({ succeeded: 1 });
    expect(receiver.events(name)).toHaveLength(4);
  });
});
