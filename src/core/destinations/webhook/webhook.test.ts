import { describe, expect, it } from 'vitest';
import { batchOf, claimOf, receiptOf, rowOf } from '../../../../test/support/sync/batches.ts';
import { parseAllowList } from '../../http/addresses.ts';
import { createEgressGuard } from '../../http/egress.ts';
import { type ApiReply, startApi } from '../../source/source-fixture.ts';
import type { Outbox, OutboxPart } from './outbox.ts';
import { openWebhook, type StrayRejections } from './webhook.ts';

const ofCount = (count: number) => batchOf(Array.from({ length: count }, (_, no) => rowOf(String(no))));

const batchOfTwo = ofCount(2);
const batchOfFour = ofCount(4);

describe('a request that the receiver does not take', () => {
  it.each([400, 422])('with %i is halved until the record is found that it does not take alone', async (status) => {
    const receiver = await delivered(batchOfFour, (ids) => ({ status: ids.includes('2') ? status : 200 }));
    expect(receiver.sent).toEqual([['0', '1', '2', '3'], ['0', '1'], ['2', '3'], ['2'], ['3']]);
    expect(receiver.rejected).toMatchObject([{ index: 2, externalId: '2' }]);
  });

  it('for its size sets a bound of half of it: the halves and the next batch are divided unsent until they fit', async () => {
    const tooLarge = (ids: readonly string[]): ApiReply => ({ status: ids.length > 2 ? 413 : 200 });
    const receiver = await delivered(batchOfFour, tooLarge, { batches: 2 });
    expect(receiver.sent.map((ids) => ids.length)).toEqual([4, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(receiver.bytesMax).toBeGreaterThan(0);
  });

  it('with another status ends the batch, which is not completed', async () => {
    const failed = delivered(batchOfTwo, () => ({ status: 404 }));
    await expect(failed).rejects.toMatchObject({ code: 'destination_login' });
  });
});

describe('records that the receiver rejects in its response', () => {
  const rejecting =
    (externalId: string, retryable: boolean) =>
    (ids: readonly string[]): ApiReply => ({
      body: { rejected: ids.includes(externalId) ? [{ externalId, code: 'no', retryable }] : [] },
    });

  it('are refused, and named as the receiver named them; the others of the request are delivered', async () => {
    const { sent, rejected, strays } = await delivered(batchOfTwo, rejecting('1', false));
    expect(sent).toEqual([['0', '1']]);
    expect(strays).toEqual([]);
    expect(rejected).toEqual([{ index: 1, externalId: '1', message: 'Refused by the receiver: no', isNamed: true }]);
  });

  it('for now are sent once more, after all others, and then refused', async () => {
    const { sent, rejected } = await delivered(batchOfFour, rejecting('1', true), { batchSize: 2 });
    expect(sent).toEqual([['0', '1'], ['2', '3'], ['1']]);
    expect(rejected).toMatchObject([{ externalId: '1' }]);
  });

  it('and that were not sent to it are reported beside one that was, and change nothing', async () => {
    const [other, another] = [{ externalId: 'other' }, { externalId: 'another' }];
    const stray = () => ({ body: { rejected: [other, { externalId: '1', code: 'no' }, another] } });
    const { rejected, strays } = await delivered(batchOfTwo, stray);
    expect(rejected).toMatchObject([{ index: 1, externalId: '1' }]);
    expect(strays).toMatchObject([{ rejections: 2 }]);
  });

  it.each([
    ['a number that has lost its zeros', ['007', '008'], 7],
    ['a number that is no id of theirs', ['a', 'b'], 1],
    ['the ids of others', ['a', 'b'], 'c'],
  ])('and are none of those that were sent make no acceptance: %s', async (_, ids, externalId) => {
    const replies: ApiReply[] = [{ body: { rejected: [{ externalId }] } }, { body: { rejected: [] } }];
    const { sent, strays, completed } = await delivered(
      batchOf(ids.map((id) => rowOf(id))),
      () => replies.shift() ?? {},
    );
    expect(sent).toEqual([ids, ids]);
    expect(strays).toEqual([]);
    expect(completed).toEqual([receiptOf([])]);
  });

  it('in a form that cannot be read come once more, under another id, where it does not say later which', async () => {
    const replies: ApiReply[] = [{ body: { rejected: ['1'] } }, { status: 409, body: { duplicate: true } }];
    const taken = await delivered(batchOfTwo, () => replies.shift() ?? {});
    expect(taken.sent).toEqual([
      ['0', '1'],
      ['0', '1'],
      ['0', '1'],
    ]);
    expect(new Set(taken.bodies.map((body) => JSON.parse(body).id)).size).toBe(2);
    expect([taken.rejected, taken.doubted]).toEqual([[], ['0']]);
    const never = (): ApiReply => (replies.length === 0 ? { body: { duplicate: true } } : (replies.shift() ?? {}));
    replies.push({ body: { rejected: ['1'] } }, {}, { body: { rejected: ['1'] } });
    expect((await delivered(batchOfTwo, never)).rejected.map(({ externalId }) => externalId)).toEqual(['0', '1']);
    const [part] = taken.parts;
    if (!part) throw new Error('the batch has one part');
    const later = await delivered(batchOf([]), () => ({}), { pending: { ...part, isDoubted: true } });
    expect(later.sent).toHaveLength(2);
  });

  it('and were to be deleted are refused as well, by their place behind the rows', async () => {
    const batch = batchOf([rowOf('0')], { tombstones: [{ externalId: '1', effect: 'hard' }] });
    const refused = { index: 1, externalId: '1', message: 'Refused by the receiver: no', isNamed: true };
    expect((await delivered(batch, rejecting('1', false))).rejected).toEqual([refused]);
    expect((await delivered(batch, rejecting('1', true))).rejected).toEqual([refused]);
  });
});

describe('a batch of an earlier attempt', () => {
  it('is sent again as it was before the lane is open, and never halved unsent', async () => {
    const first = await delivered(batchOfTwo, () => ({}));
    const [part] = first.parts;
    if (!part) throw new Error('the batch has one part');
    const again = await delivered(batchOf([]), () => ({}), { pending: part, bytesMax: 1 });
    expect(again.bodies[0]).toBe(part.body);
    expect(again.opened).toEqual({
      fresh: false,
      checkpoint: { runId: 'run_0', batchNo: 7, receipt: receiptOf([]) },
    });
  });
});

it('a receipt that refused records do not allow is not completed: the pages are read again', async () => {
  const strict = batchOf(batchOfTwo.rows, {
    receipt() {
      throw new Error('the run fails with this record');
    },
  });
  const outbox = createOutbox();
  await expect(delivered(strict, () => ({}), { outbox })).rejects.toThrow('the run fails with this record');
  expect(outbox.discarded()).toBe(1);
  expect(outbox.completed).toEqual([]);
});

it('a webhook has no table that a complete read could replace', async () => {
  const failed = delivered(batchOfTwo, () => ({}), { mode: 'replace' });
  await expect(failed).rejects.toMatchObject({ code: 'destination_rejected' });
});

interface World {
  readonly batchSize?: number;
  /** How often the batch is delivered. */
  readonly batches?: number;
  readonly mode?: 'upsert' | 'replace';
  /** What an earlier attempt left in the outbox. */
  readonly pending?: OutboxPart;
  readonly bytesMax?: number;
  readonly outbox?: ReturnType<typeof createOutbox>;
}

/** Delivers a batch to a receiver that responds by the ids that a request brings. */
async function delivered(
  batch: ReturnType<typeof batchOf>,
  reply: (ids: readonly string[]) => ApiReply,
  { batchSize = 500, batches = 1, mode = 'upsert', outbox = createOutbox(), ...left }: World = {},
) {
  const sent: string[][] = [];
  const bodies: string[] = [];
  await using api = await startApi(({ body }) => {
    const { records } = JSON.parse(body) as { readonly records: readonly { readonly externalId: string }[] };
    const ids = records.map(({ externalId }) => externalId);
    sent.push(ids);
    bodies.push(body);
    return reply(ids);
  });
  const strays: StrayRejections[] = [];
  await using destination = openWebhook(
    {
      url: `${api.origin}/in`,
      signingSecret: `whsec_${Buffer.from('a secret of at least 24 bytes').toString('base64')}`,
      headers: {},
      batchSize,
      maxBatchBytes: 1_048_576,
      timeoutMs: 5_000,
      parallelism: 1,
    },
    {
      guard: createEgressGuard({ allow: parseAllowList(new URL(api.origin).host), deny: [], allowHttp: true }),
      logCall: () => undefined,
      secrets: [],
      outbox: outbox.of(left),
      isOperators: false,
      resource: { orgId: 'org_1', resourceKey: 'items', specVersion: '1.0.0' },
      onStrayRejections: (stray) => void strays.push(stray),
    },
  );
  const opened = await destination.open(claimOf('', { mode }));
  let rejected: Awaited<ReturnType<typeof destination.apply>> = [];
  for (let no = 0; no < batches; no += 1) rejected = await destination.apply(batch);
  const { completed, parts, doubted, bytesMax } = outbox;
  return { sent, bodies, strays, opened, rejected, completed, parts, doubted, bytesMax: bytesMax() };
}

/** An outbox in memory. */
function createOutbox() {
  const completed: string[] = [];
  const parts: OutboxPart[] = [];
  const doubted: string[] = [];
  let bytesMax: number | null = null;
  let discarded = 0;
  const of = ({ pending, bytesMax: known }: Pick<World, 'pending' | 'bytesMax'>): Outbox => ({
    open: async () => ({
      checkpoint: null,
      pending: pending
        ? {
            runId: 'run_0',
            batchNo: 7,
            receipt: receiptOf,
            parts: [pending],
            rejected: [],
            isCarried: false,
            isOfBefore: false,
          }
        : null,
      carried: null,
      sequence: 0,
      bytesMax: known ?? null,
    }),
    async prepare(_batch, outgoing) {
      parts.push(...outgoing.parts);
    },
    async advance(step) {
      bytesMax = step.bytesMax;
    },
    async doubt(part) {
      doubted.push(part.path);
    },
    failed: async () => ({ failures: 1, sinceMs: 0 }),
    async complete(receipt) {
      completed.push(receipt);
    },
    async discard() {
      discarded += 1;
    },
  });
  return {
    of,
    completed,
    parts,
    bytesMax: () => bytesMax,
    doubted,
    discarded: () => discarded,
  };
}

describe('a refusal that nobody can read', () => {
  const again = async (batch: ReturnType<typeof batchOf>, first: ApiReply) => {
    const outbox = createOutbox();
    await expect(delivered(batch, () => first, { outbox })).rejects.toMatchObject({ code: 'destination_rejected' });
    const [part] = outbox.parts;
    if (!part) throw new Error('the batch has one part');
    // The next run: what the outbox has of it is sent again, and the receiver knows it.
    const pending = { ...part, isDoubted: outbox.doubted.length > 0 };
    return await delivered(batchOf([]), () => ({ status: 409, body: { duplicate: true } }), { pending });
  };

  it('since it has more than 1 MiB, is known by the next run', async () => {
    const rejected = Array.from({ length: 2 }, (_, no) => ({ externalId: String(no), message: 'x'.repeat(600_000) }));
    const later = await again(batchOfTwo, { body: { rejected } });
    expect([later.sent.length, later.completed.length]).toEqual([2, 2]);
  });

  it('since its encoding is not known, is known by the next run', async () => {
    const later = await again(batchOfTwo, {
      headers: { 'content-encoding': 'lzma' },
      body: { rejected: [{ externalId: '1' }] },
    });
    expect([later.sent.length, later.completed.length]).toEqual([2, 2]);
  });

  it('of a request that is known, and is cut, comes once more too', async () => {
    const cut = { status: 409, body: '{ "duplicate": true, "rejected": [{ "externalId": "1' };
    const replies: ApiReply[] = [cut, { status: 409, body: { duplicate: true } }];
    expect((await delivered(batchOfTwo, () => replies.shift() ?? {})).sent).toHaveLength(3);
  });
});
