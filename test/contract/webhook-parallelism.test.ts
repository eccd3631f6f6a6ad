import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { partitionOf } from '../../src/core/destinations/webhook/parts.ts';
import type { Deliverable } from '../../src/core/model/batch.ts';
import { decodeReceipt } from '../../src/core/model/receipt.ts';
import { createWebhookPlace, type WebhookPlace } from '../support/destinations/webhook-kind.ts';
import type { Post, ReceivedRecord } from '../support/destinations/webhook-receiver.ts';
import { eventually } from '../support/service/eventually.ts';
import { claimOf, rowOf } from '../support/sync/batches.ts';
import { pageBatch } from '../support/sync/page-batch.ts';

let place: WebhookPlace;
beforeEach(async () => {
  place = await createWebhookPlace();
});
afterEach(() => place[Symbol.asyncDispose]());

type Options = Readonly<Record<string, unknown>>;

const recordsMax = 10;
const connect = (options: Options = {}) => place.connect({ batchSize: recordsMax, parallelism: 4, ...options });
/** Several versions of each record, each version of all records after the one before. */
const versionsOf = (count: number, versions: number) =>
  Array.from({ length: count * versions }, (_, n) => rowOf(String(n % count), { v: Math.floor(n / count) }));
const rowsOf = (count: number) => versionsOf(count, 1);
const mode = 'append' as const;

/** Opens the lane and applies a batch. */
async function send(rows: readonly Deliverable[], options?: Options) {
  await using destination = connect(options);
  await destination.open(claimOf('', { mode }));
  return await destination.apply(pageBatch(rows, { mode }));
}

/** What the next attempt finds, once it has sent what was left. */
async function reopen(fence: number, options?: Options) {
  await using destination = connect(options);
  const { checkpoint } = await destination.open(claimOf('', { fence, mode }));
  return decodeReceipt(checkpoint?.receipt ?? '');
}

const idsIn = ({ batch }: Post) => batch.records.map(({ externalId }) => externalId);
const partition = (post: Post) => partitionOf(idsIn(post)[0] ?? '', 4);
const inProgress = () => place.receiver.upstream.journal.filter(({ responseAt }) => responseAt === null);
const isFirstTime = ({ id }: Post, index: number, posts: readonly Post[]) =>
  posts.findIndex((post) => post.id === id) === index;
const bytesOf = ({ headers }: Post) => Number(headers['content-length']);

async function storedIds(): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`select id from outbox_parts`.execute(place.database.db);
  return rows.map(({ id }) => id);
}

/** Every version of every record came, of each record in order; what came twice was the same under the same id. */
function expectInOrder(count: number, versions: number): void {
  const { posts } = place.receiver;
  const byId = Map.groupBy(posts, ({ id }) => id);
  for (const same of byId.values()) expect(new Set(same.map(({ sha256 }) => sha256)).size).toBe(1);
  const records = posts.filter(isFirstTime).flatMap(({ batch }) => batch.records);
  const ofRecord = Map.groupBy(records, ({ externalId }: ReceivedRecord) => externalId);
  expect(ofRecord.size).toBe(count);
  for (const found of ofRecord.values()) {
    expect(found.map(({ data }) => data?.['v'])).toEqual(Array.from({ length: versions }, (_, v) => v));
  }
}

describe('requests at once', () => {
  it.each([1, 2, 3, 4])('are %d if there is enough to send, and never more', async (parallelism) => {
    const counts: number[] = [];
    place.receiver.reply(() => void counts.push(inProgress().length));
    place.receiver.upstream.pause();
    const sent = send(rowsOf(400), { parallelism });
    await place.receiver.upstream.requested(parallelism);
    place.receiver.upstream.resume();
    expect(await sent).toEqual([]);
    expect(Math.max(...counts)).toBe(parallelism);
    expectInOrder(400, 1);
  });

  it('have no record in common, so that its versions come in their order', async () => {
    const shared: string[] = [];
    place.receiver.reply((post) => {
      const others = inProgress().filter(({ nth, body }) => nth !== post.nth && body !== '');
      const ids = new Set(others.flatMap(({ body }) => idsIn({ ...post, batch: JSON.parse(body) })));
      shared.push(...idsIn(post).filter((id) => ids.has(id)));
      return undefined;
    });
    expect(await send(versionsOf(30, 8), { batchSize: 4 })).toEqual([]);
    expect(shared).toEqual([]);
    expectInOrder(30, 8);
  });

  it('leave records that are sent once more for the end of their partition', async () => {
    place.receiver.reply(({ batch: { batch, records } }) => ({
      body: { rejected: batch.part.endsWith('r') ? [] : [{ externalId: records[0]?.externalId, retryable: true }] },
    }));
    expect(await send(rowsOf(200))).toEqual([]);
    const ofPartition = Map.groupBy(place.receiver.posts, partition);
    expect(ofPartition.size).toBe(4);
    for (const posts of ofPartition.values()) {
      const late = posts.map(({ batch }) => batch.batch.part.endsWith('r'));
      const half = late.length / 2;
      expect(late).toEqual([...Array(half).fill(false), ...Array(half).fill(true)]);
    }
  });

  it('share the bound that one of them has met, also with those of the next attempt', async () => {
    const { upstream } = place.receiver;
    place.receiver.reply(({ nth }) => (nth === 1 ? { status: 413 } : undefined));
    const gate = upstream.hold(2);
    const sent = send(rowsOf(400), { parallelism: 2, batchSize: 50 });
    await upstream.requested(3);
    gate.release();
    expect(await sent).toEqual([]);
    const [first, second, ...later] = place.receiver.posts.toSorted((one, other) => one.nth - other.nth);
    if (!first || !second) throw new Error('Two requests are under way from the start');
    const bound = bytesOf(first) / 2;
    expect(bytesOf(second)).toBeGreaterThan(bound);
    await using next = connect({ parallelism: 2, batchSize: 50 });
    await next.open(claimOf('', { fence: 2, mode }));
    const seen = place.receiver.posts.length;
    await next.apply(pageBatch(rowsOf(400), { mode, batchNo: 2 }));
    const all = [...later, ...place.receiver.posts.slice(seen)];
    expect(Math.max(...all.map(bytesOf))).toBeLessThanOrEqual(bound);
  });
});

describe('a batch that was interrupted', () => {
  it('repeats whole what may have arrived, although a request beside it was too large', async () => {
    const { receiver } = place;
    receiver.reply(({ nth }) => (nth === 1 ? { status: 413 } : { status: 429, headers: { 'retry-after': '60' } }));
    receiver.upstream.pause();
    const sent = send(rowsOf(200)).catch((error: unknown) => error);
    await receiver.upstream.requested(4);
    receiver.upstream.resume();
    expect(await sent).toMatchObject({ name: 'ThrottledError', waitMs: 60_000 });
    const waiting = receiver.posts.filter(({ nth }) => nth > 1).map(({ id }) => id);
    expect(waiting.length).toBeGreaterThanOrEqual(3);
    const seen = receiver.posts.length;
    receiver.reply(() => undefined);
    await reopen(2);
    const repeated = receiver.posts.slice(seen).map(({ id }) => id);
    expect(repeated).toEqual(expect.arrayContaining(waiting));
  });

  it('keeps what both partitions refused at once, and repeats only what got no response', async () => {
    const { receiver } = place;
    receiver.reply((post) => {
      if (post.nth > 4) return { status: 429, headers: { 'retry-after': '60' } };
      return { body: { rejected: [{ externalId: idsIn(post)[0], message: 'no' }] } };
    });
    receiver.upstream.pause();
    const sent = send(rowsOf(200)).catch((error: unknown) => error);
    await receiver.upstream.requested(4);
    receiver.upstream.resume();
    expect(await sent).toMatchObject({ name: 'ThrottledError', waitMs: 60_000 });
    const replied = receiver.posts.filter(({ nth }) => nth <= 4);
    const refused = new Set(replied.map((post) => idsIn(post)[0]));
    expect(new Set(replied.map(partition)).size).toBe(4);
    receiver.reply(() => undefined);
    const { quarantine, pages } = await reopen(2);
    expect(quarantine).toHaveLength(4);
    expect(new Set(quarantine.map(({ externalId }) => externalId))).toEqual(refused);
    expect(pages).toMatchObject([{ recordsIn: 200, recordsOut: 196, quarantined: 4 }]);
    for (const { id } of replied) expect(receiver.posts.filter((post) => post.id === id)).toHaveLength(1);
    expectInOrder(200, 1);
  });

  it.each([1, 2, 3, 4])('goes on in order although parallelism is now %d', async (parallelism) => {
    const { receiver } = place;
    receiver.reply(({ nth }) => (nth > 7 ? { status: 503, headers: { 'retry-after': '60' } } : undefined));
    await expect(send(versionsOf(40, 6))).rejects.toMatchObject({ waitMs: 60_000 });
    const before = receiver.posts.length;
    let most = 0;
    receiver.reply(() => {
      most = Math.max(most, inProgress().length);
      return undefined;
    });
    expect(await reopen(2, { parallelism })).toMatchObject({ pages: [{ recordsOut: 240 }], quarantine: [] });
    expect(most).toBeLessThanOrEqual(parallelism);
    expect(receiver.posts.length - receiver.posts.filter(isFirstTime).length).toBe(before - 7);
    expectInOrder(40, 6);
  });
});

describe('a receiver that fails one of several requests', () => {
  it('with an end ends all: the others are recorded, and nothing leaves any more', async () => {
    const { receiver } = place;
    receiver.reply(({ nth }) => (nth === 1 ? { status: 404 } : undefined));
    const gates = [2, 3, 4].map((nth) => receiver.upstream.hold(nth));
    const sent = send(rowsOf(200)).catch((error: unknown) => error);
    await receiver.upstream.requested(4);
    await eventually('the end is known', async () => place.calls.some(({ statusCode }) => statusCode === 404));
    const stored = await storedIds();
    for (const gate of gates) gate.release();
    expect(await sent).toMatchObject({ code: 'destination_login' });
    expect(receiver.posts).toHaveLength(4);
    const [failed, ...others] = receiver.posts.toSorted((one, other) => one.nth - other.nth);
    const replied = new Set(others.map(({ id }) => id));
    expect(await storedIds()).toEqual(stored.filter((id) => !replied.has(id)));
    receiver.reply(() => undefined);
    expect(await reopen(2)).toMatchObject({ pages: [{ recordsOut: 200 }] });
    const repeated = receiver.posts.filter((post, index, posts) => !isFirstTime(post, index, posts));
    expect(repeated.map(({ id }) => id)).toEqual([failed?.id]);
    expectInOrder(200, 1);
  });

  it('pauses all, and what fails at the same moment is one failure', async () => {
    const { receiver } = place;
    for (const nth of [1, 2, 3, 4]) receiver.upstream.failAt(nth, { kind: 'status', status: 500 });
    receiver.upstream.pause();
    const sent = send(rowsOf(200));
    await receiver.upstream.requested(4);
    receiver.upstream.resume();
    expect(await sent).toEqual([]);
    expect(place.sleeps).toEqual([1000]);
    expectInOrder(200, 1);
  });

  it('for longer ends the attempt of all with a wait', async () => {
    place.receiver.reply(() => ({ status: 500 }));
    await expect(send(rowsOf(200))).rejects.toMatchObject({ name: 'ThrottledError', waitMs: 8000 });
    expect(place.sleeps).toEqual([1000, 2000, 4000]);
    const { length } = place.receiver.posts;
    expect(length).toBeLessThanOrEqual(16);
    expect(new Set(place.receiver.posts.map(({ id }) => id)).size).toBe(4);
    await expect(reopen(2)).rejects.toMatchObject({ name: 'ThrottledError', waitMs: 16_000 });
  });
});
