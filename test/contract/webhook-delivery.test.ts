import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Destination } from '../../src/core/destinations/destination.ts';
import type { Deliverable } from '../../src/core/model/batch.ts';
import { decodeReceipt } from '../../src/core/model/receipt.ts';
import { createWebhookPlace, type WebhookPlace } from '../support/destinations/webhook-kind.ts';
import { reopenLane, type SendOptions, sendRows } from '../support/destinations/webhook-lane.ts';
import type { Post } from '../support/destinations/webhook-receiver.ts';
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

/** See {@link sendRows}. */
const send = (rows: readonly Deliverable[], options?: SendOptions) => sendRows(place, rows, options);
/** See {@link reopenLane}. */
const reopen = (fence: number, options?: SendOptions) => reopenLane(place, fence, options);

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

  it('in a form that cannot be read gets the same again, until it can be', async () => {
    const forms = [{ rejected: ['2'] }, { rejected: [{ externalId: 2, message: 'no' }] }];
    place.receiver.reply(() => ({ body: forms.shift() }));
    expect(await send(rowsOf(3))).toMatchObject([{ index: 2, externalId: '2' }]);
    expect(new Set(requestsOf(0)).size).toBe(1);
    expect(place.receiver.posts).toHaveLength(2);
  });

  it('in a form that cannot be read, for longer, ends the run with what to do', async () => {
    place.receiver.reply(() => ({ body: { rejected: 'all' } }));
    await expect(send(rowsOf(1))).rejects.toMatchObject({
      name: 'ThrottledError',
      otherwise: { code: 'destination_rejected', message: expect.stringContaining('docs/connectors/receiver.md') },
    });
  });

  it('may refuse a deletion, by name or alone, and it is told in the receipt', async () => {
    const tombstones = ['7', '8', '9'].map((externalId) => ({ externalId, effect: 'hard' }) as const);
    place.receiver.reply((post) => {
      if (holds(post, '8')) return { status: 422 };
      if (!holds(post, '7')) return undefined;
      return { body: { rejected: [{ externalId: '7', message: 'busy', retryable: true }] } };
    });
    await using destination = place.connect();
    await destination.open(claimOf(''));
    expect(await destination.apply(pageBatch(rowsOf(1), { tombstones }))).toMatchObject([
      { index: 1, externalId: '7' },
      { index: 2, externalId: '8' },
    ]);
    const { checkpoint } = await reopen(2);
    expect(decodeReceipt(checkpoint?.receipt ?? '')).toMatchObject({
      deleted: ['9'],
      incomplete: true,
      notes: { delete_refused: 2 },
      pages: [{ recordsOut: 1, deleted: 1 }],
    });
  });

  it('is not believed about records that were not sent to it, and the log reports their number', async () => {
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
    place.receiver.reply((post) => {
      const refused = post.batch.batch.part.endsWith('r') ? retryable.slice(1, 2) : retryable;
      return { body: { rejected: refused.filter(({ externalId }) => holds(post, externalId)) } };
    });
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

  it('leaves nothing to be sent once all of its batch has a response', async () => {
    await send(rowsOf(1200));
    const { rows } = await sql`
      select (select count(*) from outbox_parts) as parts, pending_draft from outboxes`.execute(place.database.db);
    expect(rows).toEqual([{ parts: 0, pendingDraft: null }]);
  });

  it('cannot be replaced', async () => {
    await expect(send([], { claim: { mode: 'replace' } })).rejects.toMatchObject({ code: 'destination_rejected' });
  });
});

describe('a receiver', () => {
  const apply = (destination: Destination, batchNo: number, rows: readonly Deliverable[]) =>
    destination.apply(batchOf(rows, { batchNo }));

  it('is told to append every version', async () => {
    await using destination = place.connect();
    await destination.open(claimOf('', { mode: 'append' }));
    await apply(destination, 1, [rowOf('1', { v: 1 }), rowOf('1', { v: 2 })]);
    await apply(destination, 2, [rowOf('1', { v: 3 })]);
    expect(place.receiver.rows('items').map(({ data }) => data['v'])).toEqual([1, 2, 3]);
  });

  it('is told to update only the fields that are given, of records that are there', async () => {
    await send([rowOf('1', { a: 1, b: 'b' })]);
    await using destination = place.connect();
    await destination.open(claimOf('', { fence: 2, mode: 'update' }));
    await apply(destination, 2, [rowOf('1', { a: 2 }), rowOf('2', { a: 2 })]);
    expect(place.receiver.rows('items').map(({ data }) => data)).toEqual([{ a: 2, b: 'b' }]);
  });

  it('is told to delete records, after it is told to write others', async () => {
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
