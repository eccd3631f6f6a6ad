import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createActiveConnection, createConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { expectRejected } from '../support/webhooks/hook-rejections.ts';
import { signers } from '../support/webhooks/hook-signers.ts';
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
const body = '{"id":"evt_1","event_id":"Ev1","type":"contact.changed"}';

describe('an address', () => {
  it('responds the same when it is nobody’s, deleted, disabled, replaced, or of a deleted connection', async () => {
    const [deleted, disabled, replaced] = [await hookOf(), await hookOf(), await hookOf()];
    const deletedConnection = await createConnection(org);
    const gone = await createHook(sendTo(api), org, deletedConnection);
    await org.call('DELETE', `/hooks/${deleted.id}`);
    await org.call('PATCH', `/hooks/${disabled.id}`, { body: { enabled: false } });
    await org.call('POST', `/hooks/${replaced.id}/rotate`, { body: { replace: ['url'] } });
    await org.call('DELETE', `/connections/${deletedConnection}`);
    const nobodys = { post: async () => api.app.request('/api/hooks/nobodys', { method: 'POST', body }) };
    const replies = [];
    for (const { post } of [nobodys, deleted, disabled, replaced, gone]) {
      const reply = await post(body);
      replies.push([reply.status, await reply.text()]);
    }
    expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).toBe(1);
    expect(replies[0]).toEqual([404, '{"error":{"code":"not_found","message":"Hook not found."}}']);
    await org.call('PATCH', `/hooks/${disabled.id}`, { body: { enabled: true } });
    expect((await disabled.post(body)).status).toBe(202);
  });

  it('takes 1 MiB and no more, declared or not', async () => {
    const hook = await hookOf();
    const most = 'x'.repeat(1_048_576);
    expect((await hook.post(most)).status).toBe(202);
    expect((await hook.post(`${most}x`)).status).toBe(413);
    expect((await hook.post(body, { 'content-length': '1048577' })).status).toBe(413);
  });

  it('has 100 requests in progress at most, then 429 and Retry-After, while another is served', async () => {
    const [flooded, other] = [await hookOf(), await hookOf()];
    const replies = Array.from({ length: 101 }, (_, n) => flooded.post(`{"id":${n}}`));
    expect((await other.post(body)).status).toBe(202);
    const statuses = (await Promise.all(replies)).map(({ status }) => status);
    expect(statuses).toEqual([...Array.from({ length: 100 }, () => 202), 429]);
    const refused = await replies[100];
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(await refused?.json()).toMatchObject({ error: { code: 'rate_limited' } });
    expect((await flooded.post(body)).status).toBe(202);
  });

  it('takes any bytes, also none that are text', async () => {
    const hook = await hookOf();
    const path = new URL(hook.url).pathname;
    const reply = await api.app.request(path, { method: 'POST', body: Uint8Array.of(0, 0xff, 0xfe) });
    expect(reply.status).toBe(202);
  });

  it('is in no log, nor is its secret', async () => {
    const hook = await hookOf({ kind: 'github' });
    await hook.post(body, signers.github(body, hook.secret));
    const token = hook.url.split('/').at(-1) ?? '';
    expect(api.logLines.join('')).toContain('/api/hooks/***');
    expect(api.logLines.join('')).not.toContain(token);
    expect(api.logLines.join('')).not.toContain(hook.secret);
  });

  it('refuses other methods', async () => {
    const hook = await hookOf();
    const reply = await api.app.request(new URL(hook.url).pathname, { method: 'PUT' });
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD, OPTIONS']);
  });
});

describe('a handshake', () => {
  const ask = (hook: TestHook, query: string, init: RequestInit = {}) =>
    api.app.request(`${new URL(hook.url).pathname}${query}`, init);
  const text = async (reply: Response) => [reply.status, reply.headers.get('content-type'), await reply.text()];
  const plain = 'text/plain; charset=utf-8';

  it('of Slack gets its response when it is signed', async () => {
    const hook = await hookOf({ kind: 'slack' });
    const challenge = '{"token":"t","challenge":"3eZbrw1a","type":"url_verification"}';
    expect(await text(await hook.post(challenge, signers.slack(challenge, hook.secret, new Date())))).toEqual([
      200,
      plain,
      '3eZbrw1a',
    ]);
    await expectRejected(await hook.post(challenge), hook, /signature is missing/);
    expect((await hook.requests()).filter(({ status }) => status !== 'rejected')).toEqual([]);
  });

  it('of Microsoft Graph gets the decoded token', async () => {
    const reply = await ask(await hookOf(), '?validationToken=Validation%3a+Testing%3cb%3e', { method: 'POST' });
    expect(await text(reply)).toEqual([200, plain, 'Validation: Testing<b>']);
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('of Meta gets the challenge', async () => {
    const hook = await hookOf();
    expect(await text(await ask(hook, '?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=x'))).toEqual([
      200,
      plain,
      '1158201444',
    ]);
    expect((await ask(hook, '?hub.mode=other&hub.challenge=1')).status).toBe(404);
    expect((await ask(hook, `?hub.mode=subscribe&hub.challenge=${'1'.repeat(2001)}`)).status).toBe(404);
  });

  it('of CloudEvents gets the origin', async () => {
    const hook = await hookOf();
    const reply = await ask(hook, '', {
      method: 'OPTIONS',
      headers: { 'webhook-request-origin': 'events.example.com' },
    });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('webhook-allowed-origin')).toBe('events.example.com');
    expect(reply.headers.get('webhook-allowed-rate')).toBe('*');
    expect((await ask(hook, '', { method: 'OPTIONS' })).status).toBe(404);
  });

  it('gets 404 at an unknown address', async () => {
    const none = { url: 'http://localhost/api/hooks/nobodys' } as TestHook;
    expect((await ask(none, '?validationToken=x', { method: 'POST' })).status).toBe(404);
    expect((await ask(none, '?hub.mode=subscribe&hub.challenge=1')).status).toBe(404);
    const headers = { 'webhook-request-origin': 'events.example.com' };
    expect((await ask(none, '', { method: 'OPTIONS', headers })).status).toBe(404);
  });
});

describe('a hook', () => {
  const post = (wanted: object) => org.call('POST', `/connections/${connectionId}/hooks`, { body: wanted });

  it('shows address and secret once, and stores neither as text', async () => {
    const { status, body: made } = await post({ resourceKeys: ['items', 'items'], verification: { kind: 'github' } });
    expect(status).toBe(201);
    expect(made).toMatchObject({
      connectionId,
      resourceKeys: ['items'],
      verification: { kind: 'github' },
      dedupe: null,
      debounceSeconds: 2,
      maxWaitSeconds: 30,
      enabled: true,
      url: expect.stringMatching(/^http:\/\/localhost:3100\/api\/hooks\/[\w-]{43}$/),
      secret: expect.stringMatching(/^[\w-]{43}$/),
    });
    const { url, secret, ...shown } = made;
    expect((await org.call('GET', `/hooks/${made.id}`)).body).toEqual(shown);
    expect((await org.call('GET', `/connections/${connectionId}/hooks`)).body[0]).toEqual(shown);
    const row = await api.deps.db.selectFrom('hooks').selectAll().where('id', '=', made.id).executeTakeFirstOrThrow();
    const stored = Object.values(row).map((value) =>
      Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value),
    );
    for (const text of [url.split('/').at(-1), secret]) expect(stored.join('\n')).not.toContain(text);
  });

  it('is not made twice under one idempotency key, and its secrets are not kept for that', async () => {
    const headers = { 'idempotency-key': 'hook-1' };
    const wanted = { resourceKeys: ['items'], verification: { kind: 'github' } };
    const first = await org.call('POST', `/connections/${connectionId}/hooks`, { body: wanted, headers });
    const again = await org.call('POST', `/connections/${connectionId}/hooks`, { body: wanted, headers });
    expect([first.status, again.status]).toEqual([201, 409]);
    const kept = await api.deps.db.selectFrom('idempotencyKeys').selectAll().where('key', '=', 'hook-1').execute();
    expect(JSON.stringify(kept)).not.toContain(first.body.url);
  });

  it('takes the secret of the upstream and does not show it', async () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const hook = await hookOf({ kind: 'standard_webhooks', secret });
    expect(hook.secret).toBeNull();
    expect((await hook.post(body, signers.standard_webhooks(body, secret, new Date()))).status).toBe(202);
  });

  it.each([
    [
      'a resource that the spec lacks',
      { resourceKeys: ['items', 'nothing'], verification: { kind: 'none' } },
      'resourceKeys.1',
    ],
    ['no resource', { resourceKeys: [], verification: { kind: 'none' } }, 'resourceKeys'],
    ['no verification', { resourceKeys: ['items'] }, 'verification'],
    ['an unknown kind', { resourceKeys: ['items'], verification: { kind: 'magic' } }, 'verification.kind'],
    [
      'a secret for nothing',
      { resourceKeys: ['items'], verification: { kind: 'none', secret: 'x'.repeat(20) } },
      'verification.secret',
    ],
    [
      'a secret that no library reads',
      { resourceKeys: ['items'], verification: { kind: 'standard_webhooks', secret: 'plain-text' } },
      'verification.secret',
    ],
    [
      'a signed time without its header',
      { resourceKeys: ['items'], verification: { kind: 'hmac', header: 'x-s', content: 'timestamp.body' } },
      'verification.timestampHeader',
    ],
    [
      'a time that is not signed',
      { resourceKeys: ['items'], verification: { kind: 'hmac', header: 'x-s', timestampHeader: 'x-time' } },
      'verification.timestampHeader',
    ],
    [
      'a wait shorter than the quiet time',
      { resourceKeys: ['items'], verification: { kind: 'none' }, debounceSeconds: 9, maxWaitSeconds: 8 },
      'maxWaitSeconds',
    ],
    [
      'a pointer that is none',
      { resourceKeys: ['items'], verification: { kind: 'none' }, dedupe: { by: 'pointer', pointer: 'id' } },
      'dedupe.pointer',
    ],
  ])('is refused with %s', async (_name, wanted, path) => {
    const reply = await post(wanted);
    expect(reply).toMatchObject({ status: 400, body: { error: { code: 'validation', issues: [{ path }] } } });
  });

  it('gets a new secret, and the old one is refused from then on', async () => {
    const hook = await hookOf({ kind: 'github' });
    const { status, body: rotated } = await org.call('POST', `/hooks/${hook.id}/rotate`, {
      body: { replace: ['secret'] },
    });
    expect(status).toBe(200);
    expect(rotated.url).toBeNull();
    await expectRejected(await hook.post(body, signers.github(body, hook.secret)), hook, /signature is wrong/);
    expect((await hook.post(body, signers.github(body, rotated.secret))).status).toBe(202);
  });

  it('gets the secret that the upstream has made, and a new address', async () => {
    const hook = await hookOf({ kind: 'stripe' });
    const secret = 'whsec_of_stripe_is_plain_text';
    const { body: rotated } = await org.call('POST', `/hooks/${hook.id}/rotate`, {
      body: { replace: ['url', 'secret'], secret },
    });
    expect(rotated.secret).toBeNull();
    const path = new URL(rotated.url).pathname;
    const headers = signers.stripe(body, secret, new Date());
    expect((await api.app.request(path, { method: 'POST', headers, body })).status).toBe(202);
  });

  it('is not rotated in what it does not have, or was not asked to replace', async () => {
    const [open, signed] = [await hookOf(), await hookOf({ kind: 'github' })];
    const rotate = (id: string, wanted: object) => org.call('POST', `/hooks/${id}/rotate`, { body: wanted });
    expect((await rotate(open.id, { replace: ['secret'] })).status).toBe(400);
    expect((await rotate(signed.id, { replace: ['url'], secret: 'x'.repeat(20) })).status).toBe(400);
    expect((await rotate(signed.id, { replace: [] })).status).toBe(400);
  });

  it('that is deleted reads as absent, and its secret is gone', async () => {
    const hook = await hookOf({ kind: 'github' });
    expect((await org.call('DELETE', `/hooks/${hook.id}`)).body).toEqual({ deleted: true });
    expect((await org.call('GET', `/hooks/${hook.id}`)).status).toBe(404);
    expect((await org.call('DELETE', `/hooks/${hook.id}`)).status).toBe(404);
    const row = api.deps.db.selectFrom('hooks').select(['ciphertext', 'wrappedKey']).where('id', '=', hook.id);
    expect(await row.executeTakeFirst()).toEqual({ ciphertext: null, wrappedKey: null });
  });
});
