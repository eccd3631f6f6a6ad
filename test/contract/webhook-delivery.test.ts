import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Destination } from '../../src/core/destinations/destination.ts';
import type { Deliverable } from '../../src/core/model/batch.ts';
import { decodeReceipt } from '../../src/core/model/receipt.ts';
import { createWebhookPlace, type WebhookPlace } from '../support/destinations/webhook-kind.ts';
import type { Post, Reply } from '../support/destinations/webhook-receiver.ts';
import { batchOf, claimOf, rowOf } from '../support/sync/batches.ts';
import { pageBatch } from '../support/sync/page-batch.ts';

let place: WebhookPlace;
beforeEach(async () => {
  place = await createWebhookPlace();
});
afterEach(() => place[Symbol.asyncDispose]());

const rowsOf = (count: number, data: Deliverable['data'] = {}) =>
  Array.from({ length: count }, (_, n) => rowOf(String(n), { n, ...data }));
const holds = ({ batch }: Post, externalId: string) => batch.records.some((record) => record.externalId === externalId);
const idsAt = (resourceKey = 'items') => place.receiver.rows(resourceKey).map(({ externalId }) => Number(externalId));
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
const requestsOf = (nth: number) => place.receiver.posts.slice(nth).map(({ id, sha256 }) => `${id} ${sha256}`);

/** Opens the lane and applies a batch. */
async function send(
  rows: readonly Deliverable[],
  {
    claim = {},
    ...options
  }: Readonly<Record<string, unknown>> & { readonly claim?: Parameters<typeof claimOf>[1] } = {},
) {
  await using destination = place.connect(options);
  await destination.open(claimOf('', claim));
  return await destination.apply(pageBatch(rows));
}

/** What the next attempt finds, once it has sent what was left. */
async function reopen(fence: number, options?: Readonly<Record<string, unknown>>) {
  await using destination = place.connect(options);
  return await destination.open(claimOf('', { fence }));
}

describe('a request', () => {
  it('has the documented headers, which no header of the customer replaces', async () => {
    await send([rowOf('1')], { headers: { 'X-Tenant': 'acme', 'Webhook-Id': 'forged', 'Idempotency-Key': 'forged' } });
    const [post] = place.receiver.posts;
    expect(post?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': post?.batch.id,
      'idempotency-key': post?.batch.id,
      'x-tenant': 'acme',
    });
    expect(post?.headers['content-length']).toBeDefined();
  });

  it('is in the call log without its records and without secrets', async () => {
    place.receiver.reply(() => ({ body: { ok: true, note: 'x'.repeat(5000) } }));
    await send([rowOf('1', { secret: 'of the customer' })], { headers: { 'x-tenant': 'acme-tenant' } });
    const [call] = place.calls;
    expect(call).toMatchObject({ method: 'POST', statusCode: 200, errorCode: null });
    expect(call?.reqBodyRedacted).toContain('"records":[not logged]');
    expect(call?.respBodyTruncated).toContain('in all]');
    expect(JSON.stringify(call)).not.toMatch(/of the customer|acme-tenant/);
  });
});

it('numbers the requests of a run in the order they leave, over batches, attempts, halves and another URL', async () => {
  const numbers = () => place.receiver.posts.map(({ batch }) => [batch.batch.sequence, batch.batch.part]);
  place.receiver.reply((post) => (holds(post, '700') && post.batch.records.length > 300 ? { status: 422 } : undefined));
  {
    await using destination = place.connect();
    await destination.open(claimOf(''));
    await destination.apply(batchOf(rowsOf(300)));
    await destination.apply(batchOf(rowsOf(1000), { batchNo: 2 }));
  }
  await using moved = place.connect({ url: `${place.receiver.url}?moved` });
  await moved.open(claimOf('', { fence: 2 }));
  await moved.apply(batchOf(rowsOf(2), { batchNo: 3 }));
  expect(numbers()).toEqual([
    [1, '0'],
    [2, '0'],
    [3, '1'],
    [3, '1.0'],
    [3, '1.1'],
    [4, '0'],
  ]);
  expect(new Set(place.receiver.posts.map(({ id }) => id)).size).toBe(6);
});

describe('a receiver that refuses records', () => {
  it('by name keeps the others, and the refusals are told in the receipt', async () => {
    place.receiver.reply(() => ({
      body: { rejected: [{ externalId: '2', code: 'bad', message: 'no' }, { externalId: 'not sent' }] },
    }));
    expect(await send(rowsOf(5))).toEqual([
      { index: 2, externalId: '2', message: 'Refused by the receiver: bad: no', isNamed: true },
    ]);
    expect(idsAt()).toEqual([0, 1, 3, 4]);
    const { checkpoint } = await reopen(2);
    expect(decodeReceipt(checkpoint?.receipt ?? '')).toMatchObject({
      pages: [{ recordsOut: 4, quarantined: 1 }],
      quarantine: [{ externalId: '2', rawJson: '{"raw":"2"}' }],
    });
  });

  it('which it was not sent is not believed, and how many they were is told', async () => {
    const foreign = ['not sent', 'not sent either'].map((externalId) => ({
      externalId,
      message: 'no',
      retryable: true,
    }));
    place.receiver.reply(() => ({ body: { rejected: [...foreign, { externalId: '1', message: 'no' }] } }));
    expect(await send(rowsOf(3))).toMatchObject([{ index: 1, externalId: '1' }]);
    const [post] = place.receiver.posts;
    expect(place.receiver.posts).toHaveLength(1);
    expect(place.strays).toEqual([{ partId: post?.id, rejections: 2 }]);
  });

  it('for the moment gets them once more, after all others, and then they are refused', async () => {
    const retryable = ['1', '3', '501'].map((externalId) => ({ externalId, retryable: true }));
    place.receiver.reply(({ batch }) => ({
      body: { rejected: batch.batch.part.endsWith('r') ? retryable.slice(1, 2) : retryable },
    }));
    const rejected = await send(rowsOf(600));
    expect(rejected.map(({ index, externalId }) => [index, externalId])).toEqual([[3, '3']]);
    expect(place.receiver.posts.map(({ batch }) => [batch.batch.part, batch.records.length])).toEqual([
      ['0', 500],
      ['1', 100],
      ['0r', 2],
      ['1r', 1],
    ]);
    expect(idsAt().toSorted((a, b) => a - b)).toEqual(upTo(600).filter((id) => id !== 3));
  });

  it.each([400, 422])('with %d and no name is asked for halves until the bad ones stand alone', async (status) => {
    const bad = new Set(['17', '400']);
    place.receiver.reply((post) => ([...bad].some((id) => holds(post, id)) ? { status } : undefined));
    const rejected = await send(rowsOf(500));
    expect(rejected.map(({ index, externalId }) => [index, externalId])).toEqual([
      [17, '17'],
      [400, '400'],
    ]);
    expect(rejected[0]?.message).toContain(String(status));
    expect(idsAt()).toEqual(upTo(500).filter((id) => !bad.has(String(id))));
    expect(place.receiver.posts.length).toBeLessThan(2 * 2 * 10);
    expect(new Set(place.receiver.posts.map(({ id }) => id)).size).toBe(place.receiver.posts.length);
  });

  it('may refuse a deletion: there is no record to keep', async () => {
    place.receiver.reply((post) => (holds(post, 'gone') ? { status: 400 } : undefined));
    await using destination = place.connect();
    await destination.open(claimOf(''));
    const tombstones = [{ externalId: 'gone', effect: 'hard' }] as const;
    expect(await destination.apply(batchOf([rowOf('1')], { tombstones }))).toEqual([]);
    expect(idsAt()).toEqual([1]);
  });

  it('is obeyed when the spec puts up with none: the run fails, and the batch is not sent again as it was', async () => {
    place.receiver.reply(() => ({ body: { rejected: [{ externalId: '1' }] } }));
    await using destination = place.connect();
    await destination.open(claimOf(''));
    await expect(destination.apply(pageBatch(rowsOf(2), { onTypeConflict: 'fail' }))).rejects.toMatchObject({
      code: 'record_invalid',
    });
    expect(await reopen(2)).toEqual({ fresh: true, checkpoint: null });
    expect(place.receiver.posts).toHaveLength(1);
  });
});

describe('a receiver with a bound of its own', () => {
  it('gets halves, and from then on requests that are small enough', async () => {
    place.receiver.reply(({ headers }) => (Number(headers['content-length']) > 9000 ? { status: 413 } : undefined));
    await using destination = place.connect();
    await destination.open(claimOf(''));
    expect(await destination.apply(batchOf(rowsOf(600, { text: 'x'.repeat(50) })))).toEqual([]);
    const first = place.receiver.posts.length;
    await destination.apply(batchOf(rowsOf(600, { text: 'x'.repeat(50) }), { batchNo: 2 }));
    expect(place.receiver.posts.slice(first).map(statusOf)).not.toContain(413);
    expect(place.receiver.posts.slice(0, first).filter((post) => statusOf(post) === 413).length).toBeLessThan(10);
    expect(new Set(idsAt())).toEqual(new Set(upTo(600)));
    const seen = place.receiver.posts.length;
    await using next = place.connect();
    await next.open(claimOf('', { fence: 2 }));
    await next.apply(batchOf(rowsOf(600, { text: 'x'.repeat(50) }), { batchNo: 3 }));
    expect(place.receiver.posts.slice(seen).map(statusOf)).not.toContain(413);
  });

  it('quarantines the record that is beyond it alone', async () => {
    place.receiver.reply(({ headers }) => (Number(headers['content-length']) > 2000 ? { status: 413 } : undefined));
    const rejected = await send([rowOf('0'), rowOf('1', { text: 'x'.repeat(3000) }), rowOf('2')]);
    expect(rejected).toEqual([{ index: 1, externalId: '1', message: expect.stringMatching(/^too_large: /) }]);
    expect(idsAt()).toEqual([0, 2]);
  });

  it('is not sent what the spec says is too large', async () => {
    const rejected = await send([rowOf('0', { text: 'x'.repeat(3000) }), rowOf('1')], { maxBatchBytes: 2048 });
    expect(rejected).toMatchObject([{ index: 0, message: expect.stringContaining('too_large') }]);
    expect(place.receiver.posts.map(({ batch }) => batch.records.length)).toEqual([1]);
  });

  const statusOf = ({ nth }: Post) => place.receiver.upstream.journal[nth - 1]?.status;
});

describe('a receiver in trouble', () => {
  it('gets the same bytes under the same id, after 1 s, 2 s and 4 s', async () => {
    for (const nth of [1, 2, 3]) place.receiver.upstream.failAt(nth, { kind: 'status', status: 500 + nth });
    expect(await send(rowsOf(2))).toEqual([]);
    expect(place.sleeps).toEqual([1000, 2000, 4000]);
    expect(new Set(requestsOf(0)).size).toBe(1);
    expect(place.receiver.posts).toHaveLength(4);
    expect(idsAt()).toEqual([0, 1]);
  });

  it('that breaks the connection after it has read gets the same again', async () => {
    place.receiver.upstream.failAt(1, { kind: 'reset', when: 'before' });
    expect(await send(rowsOf(2))).toEqual([]);
    expect(requestsOf(0)).toHaveLength(2);
    expect(new Set(requestsOf(0)).size).toBe(1);
    expect(idsAt()).toEqual([0, 1]);
  });

  it('that does not answer in time gets the same again', async () => {
    const gate = place.receiver.upstream.hold(1);
    expect(await send(rowsOf(2), { timeoutMs: 200 })).toEqual([]);
    gate.release();
    const { journal } = place.receiver.upstream;
    expect(journal).toHaveLength(2);
    expect(new Set(journal.map(({ body, headers }) => `${headers['webhook-id']} ${body}`)).size).toBe(1);
    expect(idsAt()).toEqual([0, 1]);
  });

  it('may say that it has accepted the batch before', async () => {
    place.receiver.reply(() => ({ status: 409, body: { duplicate: true } }));
    expect(await send(rowsOf(2))).toEqual([]);
    expect(await reopen(2)).toMatchObject({ fresh: false, checkpoint: { batchNo: 1 } });
  });

  it('for longer ends the attempt, and the next ones go on with the waits of the ones before', async () => {
    place.receiver.reply(() => ({ status: 503 }));
    await expect(send(rowsOf(2))).rejects.toMatchObject({ name: 'ThrottledError', waitMs: 8000 });
    const waits = [];
    for (const fence of [2, 3, 4, 5, 6, 7, 8]) {
      waits.push(await reopen(fence).then(null, (error: { readonly waitMs?: number }) => error.waitMs));
    }
    expect(waits).toEqual([16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000]);
    place.receiver.reply(() => undefined);
    expect(await reopen(9)).toMatchObject({ fresh: false, checkpoint: { runId: 'run_1', batchNo: 1 } });
    expect(new Set(requestsOf(0)).size).toBe(1);
    expect(idsAt()).toEqual([0, 1]);
  });

  it('for six hours ends the run, and the next run has six hours of its own', async () => {
    place.receiver.reply(() => ({ status: 500 }));
    await expect(send(rowsOf(1))).rejects.toMatchObject({ name: 'ThrottledError' });
    await age('361 minutes');
    await expect(reopen(2)).rejects.toMatchObject({ code: 'destination_unavailable', isFinal: true });
    await sql`update outboxes set failing_run_id = 'run_0'`.execute(place.database.db);
    await expect(reopen(3)).rejects.toMatchObject({ name: 'ThrottledError' });
  });

  it('that was answered in between starts anew', async () => {
    place.receiver.reply(() => ({ status: 500 }));
    await expect(send(rowsOf(1))).rejects.toMatchObject({ name: 'ThrottledError' });
    await age('359 minutes');
    place.receiver.reply(() => undefined);
    await reopen(2);
    const { rows } = await sql`select failures, failing_since from outboxes`.execute(place.database.db);
    expect(rows).toEqual([{ failures: 0, failingSince: null }]);
  });

  const age = (by: string) =>
    sql`update outboxes set failing_since = failing_since - ${by}::interval`.execute(place.database.db);
});

describe('a receiver that asks for patience', () => {
  it('gets a little of it at once', async () => {
    place.receiver.upstream.failAt(1, { kind: 'status', status: 429, retryAfter: 7 });
    expect(await send(rowsOf(1))).toEqual([]);
    expect(place.sleeps).toEqual([7000]);
  });

  it('gets more of it from the run, which then goes on behind what was answered, with the same bytes', async () => {
    const script =
      (status: number): ((post: Post) => Reply | undefined) =>
      (post) => {
        if (holds(post, '0')) return { body: { rejected: [{ externalId: '3', message: 'no' }] } };
        return holds(post, '600') ? { status, headers: { 'retry-after': '120' } } : undefined;
      };
    place.receiver.reply(script(429));
    await expect(send(rowsOf(1500))).rejects.toMatchObject({
      name: 'ThrottledError',
      waitMs: 120_000,
      otherwise: { code: 'destination_unavailable', isFinal: true },
    });
    expect(place.receiver.posts.map(({ batch }) => batch.batch.part)).toEqual(['0', '1']);
    place.receiver.reply(script(200));
    const { checkpoint } = await reopen(2);
    expect(place.receiver.posts.map(({ batch }) => batch.batch.part)).toEqual(['0', '1', '1', '2']);
    expect(new Set(requestsOf(1)).size).toBe(2);
    expect(decodeReceipt(checkpoint?.receipt ?? '')).toMatchObject({
      pages: [{ recordsIn: 1500, recordsOut: 1499, quarantined: 1 }],
      quarantine: [{ externalId: '3' }],
    });
    expect(place.sleeps).toEqual([]);
  });

  it('goes on in the middle of what it had refused', async () => {
    place.receiver.reply((post) => {
      if (holds(post, '3') && post.batch.records.length < 3) return { status: 503, headers: { 'retry-after': '60' } };
      return holds(post, '2') ? { status: 422 } : undefined;
    });
    await expect(send(rowsOf(16))).rejects.toMatchObject({ waitMs: 60_000 });
    const before = place.receiver.posts.length;
    place.receiver.reply((post) => (holds(post, '2') ? { status: 422 } : undefined));
    const { checkpoint } = await reopen(2);
    expect(decodeReceipt(checkpoint?.receipt ?? '').quarantine.map(({ externalId }) => externalId)).toEqual(['2']);
    expect(idsAt()).toEqual(upTo(16).filter((id) => id !== 2));
    expect(place.receiver.posts.slice(before).some((post) => holds(post, '0'))).toBe(false);
  });
});

describe('a receiver that wants nothing', () => {
  it.each([
    [401, 'destination_login'],
    [403, 'destination_login'],
    [404, 'destination_login'],
    [410, 'destination_gone'],
    [302, 'destination_rejected'],
    [405, 'destination_rejected'],
  ])('with %d ends the run as %s; the batch waits for the next', async (status, code) => {
    place.receiver.reply(() => ({ status, headers: { location: '/elsewhere' } }));
    await expect(send(rowsOf(2))).rejects.toMatchObject({ code });
    expect(place.receiver.posts).toHaveLength(1);
    place.receiver.reply(() => undefined);
    expect(await reopen(2)).toMatchObject({ fresh: false, checkpoint: { batchNo: 1 } });
    expect(new Set(requestsOf(0)).size).toBe(1);
    expect(idsAt()).toEqual([0, 1]);
  });

  it('because its address is not allowed ends the run, and the refusal is in the call log', async () => {
    await expect(send(rowsOf(1), { url: 'http://127.0.0.1:9/hook' })).rejects.toMatchObject({ code: 'egress_blocked' });
    expect(place.calls).toMatchObject([{ statusCode: null, errorCode: 'egress_blocked' }]);
  });

  it('because it answers with megabytes ends the run', async () => {
    place.receiver.reply(() => ({ body: 'x'.repeat(1_100_000) }));
    await expect(send(rowsOf(1))).rejects.toMatchObject({ code: 'destination_rejected' });
  });
});

describe('a lane', () => {
  it('is new when its URL is another one, and forgets what was to be sent', async () => {
    place.receiver.reply(() => ({ status: 404 }));
    await expect(send(rowsOf(1))).rejects.toMatchObject({ code: 'destination_login' });
    const url = `${place.receiver.url}/2`;
    expect(await reopen(2, { url })).toEqual({ fresh: true, checkpoint: null });
    expect(await reopen(3)).toEqual({ fresh: true, checkpoint: null });
    expect(place.receiver.posts).toHaveLength(1);
  });

  it('is not new when only the secret or the headers are others', async () => {
    await send(rowsOf(1));
    expect(await reopen(2, { headers: { 'x-new': '1' } })).toMatchObject({ fresh: false });
  });

  it('that a later attempt has taken is repeated by that one, and left by the older', async () => {
    const gate = place.receiver.upstream.hold(1);
    await using older = place.connect();
    await older.open(claimOf('', { fence: 1 }));
    const applied = older.apply(pageBatch(rowsOf(600))).catch((error: unknown) => error);
    await gate.reached;
    expect(await reopen(2)).toMatchObject({ fresh: false, checkpoint: { batchNo: 1 } });
    gate.release();
    expect(await applied).toMatchObject({ code: 'fenced' });
    expect(place.receiver.posts).toHaveLength(3);
    expect(new Set(requestsOf(0)).size).toBe(2);
    expect(idsAt()).toEqual(upTo(600));
  });

  it('leaves nothing to be sent once its batch is answered', async () => {
    await send(rowsOf(1200));
    const { rows } = await sql`
      select (select count(*) from outbox_parts) as parts, pending_draft from outboxes`.execute(place.database.db);
    expect(rows).toEqual([{ parts: 0, pendingDraft: null }]);
  });

  it('cannot be replaced', async () => {
    await expect(send([], { claim: { mode: 'replace' } })).rejects.toMatchObject({ code: 'destination_rejected' });
  });
});

describe('a receiver is told how a record is written', () => {
  const apply = (destination: Destination, batchNo: number, rows: readonly Deliverable[]) =>
    destination.apply(batchOf(rows, { batchNo }));

  it('append: every version', async () => {
    await using destination = place.connect();
    await destination.open(claimOf('', { mode: 'append' }));
    await apply(destination, 1, [rowOf('1', { v: 1 }), rowOf('1', { v: 2 })]);
    await apply(destination, 2, [rowOf('1', { v: 3 })]);
    expect(place.receiver.rows('items').map(({ data }) => data['v'])).toEqual([1, 2, 3]);
  });

  it('update: only the fields that are given, of records that are there', async () => {
    await send([rowOf('1', { a: 1, b: 'b' })]);
    await using destination = place.connect();
    await destination.open(claimOf('', { fence: 2, mode: 'update' }));
    await apply(destination, 2, [rowOf('1', { a: 2 }), rowOf('2', { a: 2 })]);
    expect(place.receiver.rows('items').map(({ data }) => data)).toEqual([{ a: 2, b: 'b' }]);
  });

  it('delete: records that are gone, after those that are there', async () => {
    await send(rowsOf(3));
    await using destination = place.connect();
    await destination.open(claimOf('', { fence: 2 }));
    const tombstones = ['0', '2', 'never there'].map((externalId) => ({ externalId, effect: 'soft' }) as const);
    expect(await destination.apply(batchOf([rowOf('3')], { batchNo: 2, tombstones }))).toEqual([]);
    expect(idsAt()).toEqual([1, 3]);
  });
});

const extremes = {
  bigint: '9007199254740993',
  decimal: '12345678901234.5678',
  at: '2026-03-29T01:30:00.123456+05:30',
  emoji: '👩‍👩‍👧 e\u0301 漢',
  quotes: `'"\\{a,b}\n\r\t`,
  float: 1.7976931348623157e308,
  yes: true,
  nothing: null,
  json: { b: [1, { c: null }], a: 'x"\\' },
  text: 'é"\\x'.repeat(200_000),
};

it('a value arrives as it is, up to 1 MiB of them', async () => {
  await send([rowOf('1', extremes)], { maxBatchBytes: 4_194_304 });
  expect(place.receiver.rows('items')[0]?.data).toEqual(extremes);
});
