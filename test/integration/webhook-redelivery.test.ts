import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { eventTypes } from '../../src/core/resources/event-types.ts';
import { eventually } from '../support/service/eventually.ts';
import type { Stack } from '../support/service/stack.ts';
import { emit, emitTypes } from '../support/webhooks/endpoints.ts';
import { type EventReceiver, verified } from '../support/webhooks/event-receiver.ts';
import { useEventStack } from '../support/webhooks/event-stack.ts';

let receiver: EventReceiver;
let stack: Stack;
const endpointOf = useEventStack((started) => {
  ({ receiver, stack } = started);
});

describe('a redelivery', () => {
  test('sends the same bytes under the same id, once for each call, and counts on', async () => {
    const endpoint = await endpointOf('again');
    await emit(stack);
    await endpoint.queued({ succeeded: 1 });
    const [first] = await endpoint.attempts();
    const asked = await Promise.all([endpoint.redeliver(first?.id ?? ''), endpoint.redeliver(first?.id ?? '')]);
    expect(asked).toMatchObject([
      { statusCode: null, delivered: false },
      { statusCode: null, delivered: false },
    ]);
    const events = await receiver.received('again', 3);
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
    await receiver.received('by-hand', 3);
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
    await endpoint.queued({ succeeded: 1 });
    expect(await messageOf()).toMatchObject({ status: 'succeeded', attempts: 3, nextAttemptAt: null });
  });

  test('reaches an endpoint that is off, and does not switch it on', async () => {
    const endpoint = await endpointOf('off');
    await emit(stack);
    await endpoint.queued({ succeeded: 1 });
    await stack.org.call('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { enabled: false } });
    const [first] = await endpoint.attempts();
    await endpoint.redeliver(first?.id ?? '');
    await receiver.received('off', 2);
    expect(await endpoint.row()).toMatchObject({ enabled: false, state: 'disabled' });
  });

  test('is signed with the secret of now', async () => {
    const endpoint = await endpointOf('rotated');
    await emit(stack);
    await endpoint.queued({ succeeded: 1 });
    const { body } = await stack.org.call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, {
      body: { overlapSeconds: 0 },
    });
    const [first] = await endpoint.attempts();
    await endpoint.redeliver(first?.id ?? '');
    const [, again] = await receiver.received('rotated', 2);
    if (!again) throw new Error('two have come');
    verified(again, body.secret);
    expect(() => verified(again, endpoint.secret)).toThrow(/No matching signature/);
  });
});

test('while a secret is replaced, what is sent is verified with the old and with the new one', async () => {
  const endpoint = await endpointOf('overlap');
  const { body } = await stack.org.call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`);
  receiver.replyInTurn('overlap', 500);
  await emit(stack);
  for (const event of await receiver.received('overlap', 2)) {
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
  for (const { name, types } of groups) receiver.replyInTurn(name, ...types.map(() => 500));
  await emitTypes(stack, eventTypes);
  const seen = await Promise.all(
    groups.map(async ({ name, types }, n) => {
      const endpoint = endpoints[n];
      if (!endpoint) throw new Error('each group has its endpoint');
      await endpoint.queued({ succeeded: types.length });
      for (const event of receiver.events(name)) verified(event, endpoint.secret);
      const { body } = await stack.org.call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`);
      const taken = (await endpoint.attempts()).filter(({ delivered }) => delivered);
      for (const { id } of taken) await endpoint.redeliver(id);
      const events = await receiver.received(name, 3 * types.length);
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
  const [event] = await receiver.received('keys', 1);
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
  const [event] = await receiver.received('tested', 1);
  expect(event && verified(event, endpoint.secret)).toMatchObject({ type: 'webhook.test' });
  expect(event?.headers).toMatchObject({ 'x-service-delivery-id': body.id, 'x-service-redelivery': 'false' });
  expect(receiver.events('untested')).toEqual([]);
});
