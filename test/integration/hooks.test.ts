import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { expectRejected } from '../support/webhooks/hook-rejections.ts';
import { type Signer, signers, verificationOf } from '../support/webhooks/hook-signers.ts';
import { createHook, sendTo, type TestHook } from '../support/webhooks/hooks.ts';

let api: TestApi;
let org: TestOrg;
let connectionId: string;

beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
  connectionId = await createActiveConnection(org);
});
afterAll(() => api[Symbol.asyncDispose]());

const hookOf = (verification: Readonly<Record<string, unknown>> = { kind: 'none' }, rest = {}): Promise<TestHook> =>
  createHook(sendTo(api), org, connectionId, { verification, ...rest });
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const body = '{"id":"evt_1","event_id":"Ev1","type":"contact.changed"}';
const without = (headers: Readonly<Record<string, string>>, ...names: readonly string[]) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));

const kinds: readonly (readonly [
  kind: keyof typeof signers,
  signer: Signer,
  signed: string,
  ids: readonly string[],
])[] = [
  ['github', signers.github, 'x-hub-signature-256', ['x-github-delivery']],
  ['shopify', signers.shopify, 'x-shopify-hmac-sha256', ['x-shopify-webhook-id']],
  ['stripe', signers.stripe, 'stripe-signature', []],
  ['slack', signers.slack, 'x-slack-signature', ['x-slack-request-timestamp']],
  ['standard_webhooks', signers.standard_webhooks, 'webhook-signature', ['webhook-id', 'webhook-timestamp']],
  ['hmac', signers.hmac, 'x-acme-signature', ['x-acme-time']],
];

describe.each(kinds)('a hook for %s', (kind, sign, signed) => {
  it('accepts what the upstream has signed, once', async () => {
    const hook = await hookOf(verificationOf(kind));
    const reply = await hook.post(body, sign(body, hook.secret, new Date()));
    expect(reply.status).toBe(202);
    expect(await reply.json()).toEqual({ accepted: true });
    const again = await hook.post(body, sign(body, hook.secret, minutesAgo(1)));
    expect(again.status).toBe(202);
    const reason = expect.stringMatching(/^its (id in \S+|body) is the same as that of a request/);
    expect(await again.json()).toEqual({ accepted: true, duplicate: true, reason });
    expect(await hook.requests()).toMatchObject([
      { status: 'duplicate', reason },
      { status: 'accepted', reason: null },
    ]);
  });

  it('refuses another body, another secret and a signature that is missing or cut', async () => {
    const hook = await hookOf(verificationOf(kind));
    const other = await hookOf(verificationOf(kind));
    const headers = sign(body, hook.secret, new Date());
    await expectRejected(await hook.post(`${body} `, headers), hook, /signature is wrong/);
    await expectRejected(await other.post(body, headers), other, /signature is wrong/);
    await expectRejected(await hook.post(body, without(headers, signed)), hook, /signature is missing/);
    const cut = { ...headers, [signed]: (headers[signed] ?? '').split(',v0')[0]?.slice(0, -8) ?? '' };
    await expectRejected(await hook.post(body, cut), hook, /signature is wrong/);
  });
});

describe.each(kinds.filter(([, , , ids]) => ids.length > 0))('a hook for %s', (kind, sign, _signed, ids) => {
  it('refuses a request from which the id or the time was taken', async () => {
    const hook = await hookOf(verificationOf(kind));
    const headers = sign(body, hook.secret, new Date());
    for (const name of ids) await expectRejected(await hook.post(body, without(headers, name)), hook, /is missing/);
  });
});

const timeless: readonly string[] = ['github', 'shopify'];

describe.each(kinds.filter(([kind]) => !timeless.includes(kind)))('a hook for %s', (kind, sign) => {
  it('refuses what was signed too long ago, or is of the future', async () => {
    const hook = await hookOf(verificationOf(kind));
    for (const minutes of [6, -6]) {
      const headers = sign(body, hook.secret, minutesAgo(minutes));
      await expectRejected(await hook.post(body, headers), hook, /from the time of this service/);
    }
    expect((await hook.post(body, sign(body, hook.secret, minutesAgo(4)))).status).toBe(202);
  });
});

describe('a hook with a secret in a header', () => {
  it('accepts the secret and nothing else', async () => {
    const hook = await hookOf({ kind: 'header_secret', header: 'X-Acme-Key' });
    expect((await hook.post(body, { 'x-acme-key': hook.secret })).status).toBe(202);
    await expectRejected(await hook.post(body, { 'x-acme-key': `${hook.secret}x` }), hook, /secret is wrong/);
    await expectRejected(await hook.post(body), hook, /secret is missing/);
  });
});

describe('a time that is not signed', () => {
  it('is not looked at, where a hook of before names one', async () => {
    const hook = await hookOf({ kind: 'hmac', header: 'x-s' });
    const verification = { ...verificationOf('hmac'), header: 'x-s', algorithm: 'sha256', encoding: 'hex', prefix: '' };
    await api.deps.db
      .updateTable('hooks')
      .set({ verification: JSON.stringify({ ...verification, content: 'body', toleranceSeconds: 300 }) })
      .where('id', '=', hook.id)
      .execute();
    const signature = createHmac('sha256', hook.secret).update(body).digest('hex');
    const old = String(Math.floor(minutesAgo(60).getTime() / 1000));
    expect((await hook.post(body, { 'x-s': signature, 'x-acme-time': old })).status).toBe(202);
    await expectRejected(await hook.post('other', { 'x-s': signature }), hook, /signature is wrong/);
  });
});

describe('a stripe signature without its time', () => {
  it('is refused', async () => {
    const hook = await hookOf({ kind: 'stripe' });
    const signature = signers.stripe(body, hook.secret, new Date())['stripe-signature'].replace(/^t=\d+,/, '');
    await expectRejected(await hook.post(body, { 'stripe-signature': signature }), hook, /timestamp is missing/);
  });
});

/** What an accepted request is told. */
async function isDuplicate(reply: Promise<Response>): Promise<boolean> {
  const told = await (await reply).text();
  expect(told).toMatch(/^\{"accepted":true(,"duplicate":true,"reason":"[^"]+")?\}$/);
  return told.includes('duplicate');
}

describe('the same notification', () => {
  const counted = async (hook: TestHook, bodies: readonly string[]) => {
    const replies: boolean[] = [];
    for (const content of bodies) replies.push(await isDuplicate(hook.post(content)));
    return replies;
  };

  it('is one with the same body, unless there is none', async () => {
    expect(await counted(await hookOf(), ['{"a":1}', '{"a":1}', '{"a":2}', '', ''])).toEqual([
      false,
      true,
      false,
      false,
      false,
    ]);
  });

  it('is one with the same id in the body, in text or number', async () => {
    const hook = await hookOf({ kind: 'none' }, { dedupe: { by: 'pointer', pointer: '/a~1b/0/id' } });
    const bodies = [
      '{"a/b":[{"id":7}]}',
      '{"a/b":[{"id":7}],"more":1}',
      '{"a/b":[{"id":"8"}]}',
      'no JSON',
      '{"a/b":[]}',
    ];
    expect(await counted(hook, bodies)).toEqual([false, true, false, false, false]);
  });

  it('is one with the same id in a header, which it needs', async () => {
    const hook = await hookOf({ kind: 'none' }, { dedupe: { by: 'header', name: 'X-Event' } });
    expect(await (await hook.post('a', { 'x-event': '1' })).json()).toEqual({ accepted: true });
    expect(await (await hook.post('b', { 'x-event': '1' })).json()).toEqual({
      accepted: true,
      duplicate: true,
      reason: 'its id in X-Event is the same as that of a request in the last 7 days',
    });
    expect(await (await hook.post('a', { 'x-event': '2' })).json()).toEqual({ accepted: true });
    await expectRejected(await hook.post('a'), hook, /id is missing/);
  });

  it('is compared with nothing where the upstream says always the same', async () => {
    expect(await counted(await hookOf({ kind: 'none' }, { dedupe: { by: 'nothing' } }), ['x', 'x'])).toEqual([
      false,
      false,
    ]);
  });

  it('may come to two hooks, and again when it was ignored', async () => {
    const [one, other] = [await hookOf(), await hookOf()];
    await org.call('POST', `/connections/${connectionId}/pause`);
    const ignored = await one.post(body);
    expect(ignored.status).toBe(202);
    expect(await ignored.json()).toEqual({ accepted: true });
    await org.call('POST', `/connections/${connectionId}/activate`);
    expect(await (await one.post(body)).json()).toEqual({ accepted: true });
    expect(await (await other.post(body)).json()).toEqual({ accepted: true });
    expect(await one.requests()).toMatchObject([
      { status: 'accepted', reason: null, runs: [{ resourceKey: 'items', runId: null }] },
      { status: 'accepted', reason: 'the connection became active', runs: [{ resourceKey: 'items', runId: null }] },
      { status: 'ignored', reason: 'connection paused', runs: [] },
    ]);
  });

  it('is accepted once when it comes ten times at once', async () => {
    const hook = await hookOf();
    const replies = await Promise.all(Array.from({ length: 10 }, () => isDuplicate(hook.post(body))));
    expect(replies.filter((duplicate) => !duplicate)).toHaveLength(1);
  });
});
