import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Deliverable } from '../../src/core/model/batch.ts';
import { decodeReceipt } from '../../src/core/model/receipt.ts';
import { createWebhookPlace, type WebhookPlace } from '../support/destinations/webhook-kind.ts';
import { reopenLane, type SendOptions, sendRows } from '../support/destinations/webhook-lane.ts';
import type { Post, Reply } from '../support/destinations/webhook-receiver.ts';
import { batchOf, claimOf, rowOf } from '../support/sync/batches.ts';

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

/** See {@link sendRows}. */
const send = (rows: readonly Deliverable[], options?: SendOptions) => sendRows(place, rows, options);
/** See {@link reopenLane}. */
const reopen = (fence: number, options?: SendOptions) => reopenLane(place, fence, options);

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

  it('that does not respond in time gets the same again', async () => {
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

  it('that responded in between starts anew', async () => {
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

  it('gets more of it from the run, which then goes on behind what got a response, with the same bytes', async () => {
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

  it('because it responds with megabytes ends the run', async () => {
    place.receiver.reply(() => ({ body: 'x'.repeat(1_100_000) }));
    await expect(send(rowsOf(1))).rejects.toMatchObject({ code: 'destination_rejected' });
  });
});
