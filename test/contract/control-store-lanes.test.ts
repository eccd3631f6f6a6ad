import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlStores, failed, openCase } from '../support/control-stores/case.ts';
import type { ControlStore } from '../support/control-stores/control-store.ts';
import { listPosition } from '../support/control-stores/random-receipts.ts';
import { partitionEntry, quarantineEntry, receiptOf, watermark } from '../support/service/receipts.ts';

const succeeded = { outcome: { status: 'succeeded', error: null }, breaksConnection: false } as const;

const meaning = { key: 'k', cursor: 'c', read: 'r', account: '', places: '', fields: '', known: '' } as const;

describe.each(controlStores)('what a control store on $name knows', ({ open }) => {
  let store: ControlStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store[Symbol.asyncDispose]());
  const start = () => openCase(store);

  describe('of a full scan', () => {
    it('is which records the run has not seen, in its partition or in all', async () => {
      const { queries, db, scope, started, record } = await start();
      const { id, attempt } = await started();
      const { laneId, seq } = attempt;
      const records = ['r1', 'r2', 'r3'].map((externalId) => ({ ...receiptOf(id, 1).records[0], externalId }) as never);
      await record(attempt, receiptOf(id, 1, { records, seen: [{ partition: 'p', externalIds: ['r1', 'r2'] }] }));
      const scan = {
        laneId,
        seq,
        isPartitioned: true,
        coversAll: true,
        listsAll: true,
        confirm: 1,
        hasGaps: false,
        after: null,
      };
      expect(await queries.countMissing(db, scope, scan)).toEqual({ missing: 1, flagged: 0, due: 1 });
      expect(await queries.countKnown(db, scope, laneId)).toBe(3);
      const third = { externalId: 'r3', isUndelivered: false };
      expect(await queries.findMissing(db, scope, { ...scan, limit: 9 })).toEqual([third]);
      const later = { ...scan, seq: seq + 1000 };
      expect(await queries.findMissing(db, scope, { ...later, limit: 1 })).toMatchObject([{ externalId: 'r1' }]);
      // Nobody has read the partition of the others.
      expect(await queries.countMissing(db, scope, { ...later, coversAll: false })).toEqual({
        missing: 0,
        flagged: 0,
        due: 0,
      });
      await record(attempt, receiptOf(id, 2, { records: [], deleted: ['r1', 'r3'] }));
      expect(await queries.countMissing(db, scope, later)).toEqual({ missing: 1, flagged: 0, due: 1 });
    });
  });

  describe('of a record that is deleted', () => {
    const entry = (parts: object) => ({ ...receiptOf('', 1).records[0], ...parts }) as never;

    it('is that it is, also where no version of it was delivered, with the cursor value of its last version', async () => {
      const { org, queries, db, scope, started, record, states } = await start();
      const { id, attempt } = await started();
      const { laneId } = attempt;
      const records = [entry({ status: 'quarantined', cursor: '7' })];
      await record(attempt, receiptOf(id, 1, { records, position: listPosition(0) }));
      expect(await states(laneId, ['r1'])).toMatchObject([{ status: 'undelivered' }]);
      await record(attempt, receiptOf(id, 2, { records: [], deleted: ['r1'] }));
      expect(await states(laneId, ['r1'])).toMatchObject([{ status: 'deleted', cursor: '7' }]);
      expect((await org.rows()).recordState).toMatchObject([{ undelivered: null }]);
      expect(await queries.countKnown(db, scope, laneId)).toBe(0);
    });

    it('is that it is, also where it was delivered in the same batch', async () => {
      const { queries, db, scope, started, record, states } = await start();
      const { id, attempt } = await started();
      await record(attempt, receiptOf(id, 1, { records: [], deleted: ['r2', 'r2'] }));
      expect(await states(attempt.laneId, ['r2'])).toMatchObject([{ status: 'deleted', hash: '' }]);
      expect(await queries.findDeleted(db, scope, { laneId: attempt.laneId, after: null, limit: 9 })).toEqual(['r2']);
    });

    it('is that something of it is at the destination, where that has a row of one that was only kept back', async () => {
      const { queries, db, scope, started, record, states } = await start();
      const { id, attempt } = await started();
      const records = [entry({ status: 'quarantined' })];
      await record(attempt, receiptOf(id, 1, { records, position: listPosition(0) }));
      const externalIds = ['r1'];
      expect(await queries.noteLeftovers(db, scope, { owner: attempt, externalIds })).toBe(true);
      expect(await states(attempt.laneId, externalIds)).toMatchObject([{ status: 'quarantined', hash: 'aGFzaA' }]);
    });
  });

  it('of the columns that a lane has written in a table is all that its attempts noted, unless a newer one holds the lane', async () => {
    const { queries, db, scope, started } = await start();
    const { attempt } = await started();
    const { laneId, fence } = attempt;
    const find = (target = 't') => queries.findWrittenColumns(db, scope, { laneId, target });
    expect(await find()).toBe(null);
    const add = (names: readonly string[], by = fence) =>
      queries.addWrittenColumns(db, scope, { owner: { laneId, fence: by }, target: 't', names });
    expect(await add(['b', 'Z', 'b'])).toBe(true);
    expect(await add(['a', 'b'])).toBe(true);
    expect(await add(['late'], fence - 1)).toBe(false);
    expect([await find(), await find('u')]).toEqual([['Z', 'a', 'b'], null]);
  });

  describe('of quarantined records', () => {
    const entry = (id: string, externalId = 'r1') => quarantineEntry({ id: `${id}_${Math.random()}`, externalId });

    it('is that one which is awaited is tried by each run, in its open row, until it is no longer refused', async () => {
      const { org, queries, db, scope, connectionId, started, record } = await start();
      const { id, attempt } = await started();
      const awaited = { ...entry('awaited'), isAwaited: true } as const;
      await record(attempt, receiptOf(id, 1, { records: [], quarantine: [awaited] }));
      const page = { connectionId, resourceKey: 'a', after: null, limit: 9 };
      const requeued = () => queries.findRequeued(db, scope, page);
      const [row] = await requeued();
      const retried = [row?.id ?? ''];
      const again = { ...awaited, isAgain: true };
      await record(attempt, receiptOf(id, 2, { records: [], quarantine: [again], retried }));
      expect((await requeued()).map((one) => one.id)).toEqual(retried);
      await record(
        attempt,
        receiptOf(id, 3, { records: [], quarantine: [{ ...entry(''), id: awaited.id, isAgain: true }], retried }),
      );
      expect(await requeued()).toEqual([]);
      expect((await org.rows()).quarantine).toMatchObject([{ resolvedAt: null, requeuedAt: null }]);
      await record(attempt, receiptOf(id, 4, { records: [], retried }));
      expect((await org.rows()).quarantine).toMatchObject([{ resolvedAt: expect.any(String), requeuedAt: null }]);
    });

    it('is one open row per record, until the record is delivered', async () => {
      const { org, started, record } = await start();
      const { id, attempt } = await started();
      await record(attempt, receiptOf(id, 1, { records: [], quarantine: [entry('first')] }));
      await record(
        attempt,
        receiptOf(id, 2, { records: [], quarantine: [{ ...entry('second'), rawJson: 'no JSON' }] }),
      );
      const [kept, ...others] = (await org.rows()).quarantine;
      expect(others).toEqual([]);
      expect(kept).toMatchObject({ externalId: 'r1', rawJson: 'no JSON', resolvedAt: null, requeuedAt: null });
      await record(attempt, receiptOf(id, 3));
      expect((await org.rows()).quarantine).toMatchObject([{ resolvedAt: expect.any(String), requeuedAt: null }]);
    });

    it('is which ones wait for another try, until a batch says that it tried them', async () => {
      const { queries, db, scope, connectionId, started, record } = await start();
      const { id, attempt } = await started();
      const sealed = 'sealed:k1.AAAA.BBBB.CCCC';
      const [kept, large] = [{ ...entry('kept'), sealed }, { ...entry('large', 'r2') }];
      const errors = [{ path: '', message: 'm', keyword: 'too_large' }];
      await record(attempt, receiptOf(id, 1, { records: [], quarantine: [kept, { ...large, errors }] }));
      expect(await queries.requeueOne(db, scope, kept.id)).toBe(true);
      expect(await queries.requeueOne(db, scope, kept.id)).toBe(false);
      const ofLane = { connectionId, resourceKey: 'a' };
      expect(await queries.requeueAll(db, scope, { connectionId, resourceKey: null })).toBe(1);
      const page = { ...ofLane, after: null, limit: 10 };
      expect(await queries.findRequeued(db, scope, page)).toEqual([
        { id: kept.id, externalId: 'r1', version: '', isLast: true, record: { v: 1 }, each: {}, sealed },
      ]);
      // The step that failed fails again: its row waits for the run after that, with the record as it was.
      const again = [{ ...entry(''), id: kept.id, rawJson: 'null', isAgain: true }];
      await record(attempt, receiptOf(id, 2, { records: [], retried: [kept.id], again }));
      expect(await queries.findRequeued(db, scope, page)).toMatchObject([{ id: kept.id, record: { v: 1 }, sealed }]);
      await record(attempt, receiptOf(id, 3, { retried: [kept.id] }));
      expect(await queries.findRequeued(db, scope, page)).toEqual([]);
    });
  });

  describe('of partitions', () => {
    it('is a watermark for the lane once each of them has one, integers by their value', async () => {
      const { queries, db, scope, started, record, end, run } = await start();
      const { id, attempt } = await started();
      const part = { runId: id, owner: attempt, dimension: 0, position: listPosition(1) };
      const value = (key: string) => ({ key, value: { key } });
      expect(await queries.addToDimension(db, scope, { ...part, values: [value('x'), value('x'), value('y')] })).toBe(
        true,
      );
      expect(await queries.addToDimension(db, scope, { ...part, values: [value('y')] })).toBe(true);
      expect(await queries.countDimensions(db, scope, id)).toEqual([{ dimension: 0, count: 2 }]);
      expect(await queries.findDimensionValue(db, scope, { runId: id, dimension: 0, no: 1 })).toEqual(value('y'));
      const partitions = ['x', 'y'].map((key, index) =>
        partitionEntry({ partition: key, watermark: ['10', '9'][index] ?? null }),
      );
      await record(attempt, receiptOf(id, 1, { partitions }));
      await end(id);
      expect((await run(id))?.watermarkAfter).toBe('9');
      expect(await queries.countDimensions(db, scope, id)).toEqual([]);
    });

    it('is no watermark for the lane while one of them has none', async () => {
      const { started, record, end, begin, insert, run } = await start();
      const { id, attempt } = await started();
      const partitions = [partitionEntry({ partition: 'x' }), partitionEntry({ partition: 'y', watermark: null })];
      await record(attempt, receiptOf(id, 1, { partitions }));
      await end(id);
      const next = await insert();
      await begin(next);
      expect(await run(next)).toMatchObject({ status: 'running', watermarkBefore: null });
    });

    it('is every combination of the lists, those of the last changing fastest', async () => {
      const { queries, db, scope, started } = await start();
      const { id, attempt } = await started();
      for (const [dimension, keys] of [
        ['a', 'b'],
        ['x', 'y'],
      ].entries()) {
        const values = keys.map((key) => ({ key, value: key }));
        await queries.addToDimension(db, scope, {
          runId: id,
          owner: attempt,
          dimension,
          values,
          position: listPosition(2),
        });
      }
      const lists = [0, 1].map((dimension) => ({ dimension, count: 2 }));
      expect(await queries.findCombinations(db, scope, { runId: id, lists, from: 1, limit: 2 })).toEqual([
        { no: 1, keys: ['a', 'y'] },
        { no: 2, keys: ['b', 'x'] },
      ]);
      expect(await queries.clearDimension(db, scope, { runId: id, owner: attempt, dimension: 1 })).toBe(true);
      const fencedOff = { laneId: attempt.laneId, fence: attempt.fence - 1 };
      expect(await queries.clearDimension(db, scope, { runId: id, owner: fencedOff, dimension: 0 })).toBe(false);
      expect(await queries.countDimensions(db, scope, id)).toEqual([{ dimension: 0, count: 2 }]);
    });
  });

  describe('of a lane', () => {
    it('is forgotten for a new destination, by the holder of the lane only', async () => {
      const { queries, db, scope, started, record, end, take, partition, states } = await start();
      const earlier = await started();
      await record(earlier.attempt, receiptOf(earlier.id, 1));
      await end(earlier.id);
      const { id, attempt } = await started();
      expect(attempt.watermarkBefore).toBe(watermark);
      await record(attempt, receiptOf(id, 1, { position: listPosition(0) }));
      const { laneId, fence } = await take(id);
      expect(await queries.forgetLane(db, scope, { runId: id, laneId, fence: attempt.fence })).toBeNull();
      expect(await queries.forgetLane(db, scope, { runId: id, laneId, fence })).toMatchObject({
        records: 1,
        position: null,
      });
      expect([await partition(laneId), await states(laneId, ['r1'])]).toEqual([undefined, []]);
      expect(await take(id)).toMatchObject({ position: null, readCompleted: false, watermarkBefore: null, batchNo: 1 });
    });

    it('keeps the list of a run that has only listed so far', async () => {
      const { queries, db, scope, started } = await start();
      const { id, attempt } = await started();
      const position = listPosition(1);
      await queries.addToDimension(db, scope, { runId: id, owner: attempt, dimension: 0, values: [], position });
      expect(await queries.forgetLane(db, scope, { ...attempt, runId: id })).toMatchObject({ records: 0, position });
    });

    it.each([
      ['its watermarks and the cursor values of its records', ['read'], { cursor: null, fields: { a: 1 } }],
      ['the cursor values of its records', ['cursor'], { cursor: null, fields: { a: 1 } }],
      ['the fields stored for others', ['fields'], { cursor: '7', fields: null }],
      ['every record', ['read', 'key'], null],
      ['every record of which too little is known', ['known'], null],
    ] as const)('loses %s where they no longer mean the same', async (_what, changed, left) => {
      const { org, queries, db, scope, started, take, record, end, partition, row } = await start();
      const earlier = await started();
      const records = [
        { externalId: 'r1', hash: 'A'.repeat(20), cursor: '7', status: 'delivered', fields: { a: 1 } },
      ] as const;
      await record(earlier.attempt, receiptOf(earlier.id, 1, { records }));
      await end(earlier.id);
      const { id, attempt } = await started();
      const { laneId, fence } = attempt;
      const conformation = { laneId, fence, runId: id, before: null, meaning, changed };
      expect(await queries.conformLane(db, scope, { ...conformation, fence: fence - 1 })).toBeNull();
      expect(await queries.conformLane(db, scope, { ...conformation, before: meaning })).toBeNull();
      expect(await queries.conformLane(db, scope, conformation)).toMatchObject({ position: null });
      expect(await partition(laneId)).toBeUndefined();
      expect((await org.rows()).recordState).toMatchObject(left === null ? [] : [left]);
      const startsOver = left === null;
      expect(await row(id)).toMatchObject({ notes: { [startsOver ? 'started_over' : 'read_from_start']: 1 } });
      expect(await take(id)).toMatchObject({ meaning, watermarkBefore: null, recordedWith: null });
      // What only the destination has of the earlier run brings back no record that is forgotten.
      expect(await row(earlier.id)).toMatchObject({ batchNo: startsOver ? 2 : 1 });
      expect(await record(attempt, receiptOf(earlier.id, 2))).toEqual({ outcome: 'fenced' });
    });

    it('loses its places with other partitions, and the rows in quarantine with another account', async () => {
      const { org, queries, db, scope, started, record, end } = await start();
      const earlier = await started();
      const records = [
        { externalId: 'r1', hash: 'A'.repeat(20), cursor: null, fields: null, status: 'quarantined' },
      ] as const;
      const quarantine = [quarantineEntry({ id: `other_${Math.random()}`, externalId: 'r1' })];
      const seen = [{ partition: 'p', externalIds: ['r1'] }];
      await record(earlier.attempt, receiptOf(earlier.id, 1, { records, quarantine, seen }));
      await end(earlier.id);
      const lane = { connectionId: earlier.attempt.connectionId, resourceKey: 'a' };
      await queries.requeueAll(db, scope, lane);
      const { id, attempt } = await started();
      const conformation = { laneId: attempt.laneId, fence: attempt.fence, runId: id, before: null, meaning };
      const stored = async () => {
        const { recordState, recordPartitions } = await org.rows();
        const requeued = await queries.findRequeued(db, scope, { ...lane, after: null, limit: 9 });
        return [recordState.map(({ hash }) => String(hash).length), recordPartitions.length, requeued.length];
      };
      expect(await stored()).toEqual([[20], 1, 1]);
      await queries.conformLane(db, scope, { ...conformation, changed: ['read', 'places'] });
      expect(await stored()).toEqual([[20], 0, 1]);
      await queries.conformLane(db, scope, { ...conformation, before: meaning, changed: ['read', 'account'] });
      expect(await stored()).toEqual([[0], 0, 0]);
    });

    it('takes each record again where other fields are stored of it, from where its first read began', async () => {
      const { org, queries, db, scope, started, record, end, partition } = await start();
      const earlier = await started();
      const entry = { hash: 'A'.repeat(20), cursor: '7', fields: { a: 1 } } as const;
      const records = [
        { ...entry, externalId: 'r1', status: 'delivered' },
        { ...entry, externalId: 'r2', status: 'quarantined' },
        { ...entry, externalId: 'r3', status: 'delivered' },
      ] as const;
      const firstStart = '2025-01-01T00:00:00.000Z';
      await record(earlier.attempt, receiptOf(earlier.id, 1, { records, position: listPosition(0) }));
      const read = partitionEntry({ firstStart });
      await record(
        earlier.attempt,
        receiptOf(earlier.id, 2, {
          records: [],
          deleted: ['r3'],
          partitions: [read, partitionEntry({ partition: 'p' })],
        }),
      );
      await end(earlier.id);
      const { id, attempt } = await started();
      const conformation = { laneId: attempt.laneId, fence: attempt.fence, runId: id, before: null, meaning };
      expect(await queries.conformLane(db, scope, { ...conformation, changed: ['fields'] })).not.toBeNull();
      const states = await queries.findRecordStates(db, scope, {
        laneId: attempt.laneId,
        externalIds: ['r1', 'r2', 'r3'],
      });
      expect(Object.fromEntries(states.map(({ externalId, hash }) => [externalId, hash]))).toEqual({
        r1: '',
        r2: '',
        r3: 'A'.repeat(20),
      });
      expect((await org.rows()).recordState).toMatchObject([{ fields: null }, { fields: null }, { fields: null }]);
      expect(await partition(attempt.laneId)).toMatchObject({ watermark: null, firstStart });
      expect(await partition(attempt.laneId, 'p')).toBeUndefined();
      await queries.conformLane(db, scope, { ...conformation, before: meaning, changed: ['fields', 'read'] });
      expect(await partition(attempt.laneId)).toBeUndefined();
    });

    it('keeps everything where it only did not say what it means', async () => {
      const { queries, db, scope, started, take, record, end, partition, states } = await start();
      const earlier = await started();
      await record(earlier.attempt, receiptOf(earlier.id, 1));
      await end(earlier.id);
      const { id, attempt } = await started();
      const { laneId, fence } = attempt;
      expect(attempt.meaning).toBeNull();
      await queries.conformLane(db, scope, { laneId, fence, runId: id, before: null, meaning, changed: [] });
      expect(await partition(laneId)).toMatchObject({ watermark, validators: null });
      expect(await states(laneId, ['r1'])).toHaveLength(1);
      expect(await take(id)).toMatchObject({ meaning, watermarkBefore: watermark });
    });

    describe('is whether all its records are stored', () => {
      const key = 'a';
      async function openLane() {
        const lane = await start();
        const { queries, db, scope, connectionId, started, record, end } = lane;
        return {
          ...lane,
          isComplete: () => queries.isLaneComplete(db, scope, { connectionId, resourceKey: key }),
          /** A run that reads to its end. */
          async read(parts: Parameters<typeof started>[0] = {}, receipt: Parameters<typeof receiptOf>[2] = {}) {
            const { id, attempt } = await started(parts);
            await record(attempt, receiptOf(id, 1, receipt));
            await end(id);
          },
        };
      }
      type Lane = Awaited<ReturnType<typeof openLane>>;
      const conform =
        (...changed: readonly ('key' | 'fields' | 'read' | 'cursor')[]) =>
        ({ queries, db, scope }: Lane, runId: string, attempt: { readonly laneId: number; readonly fence: number }) =>
          queries.conformLane(db, scope, { ...attempt, runId, before: null, meaning, changed });
      const backfill = { from: null, force: false };

      it.each<[string, (lane: Lane) => Promise<unknown>]>([
        ['one that left something out, as at a limit', ({ read }) => read({}, { incomplete: true })],
        ['a backfill', ({ read }) => read({ trigger: 'backfill', backfill })],
        [
          'one that was canceled before its end',
          async ({ queries, db, scope, started, record, end }) => {
            const { id, attempt } = await started();
            await record(attempt, receiptOf(id, 1, { position: listPosition(0) }));
            await queries.requestCancel(db, scope, id);
            expect((await end(id)).run?.status).toBe('canceled');
          },
        ],
        [
          'one that failed',
          async ({ started, record, end }) => {
            const { id, attempt } = await started();
            await record(attempt, receiptOf(id, 1, { position: listPosition(0) }));
            await end(id, failed);
          },
        ],
      ])('which no run shows but one that has read all of it: not %s', async (_what, other) => {
        const lane = await openLane();
        expect(await lane.isComplete()).toBe(false);
        await other(lane);
        expect(await lane.isComplete()).toBe(false);
        await lane.read();
        expect(await lane.isComplete()).toBe(true);
        await other(lane);
        expect(await lane.isComplete()).toBe(true);
      });

      it.each<[string, ReturnType<typeof conform>]>([
        [
          'they were forgotten',
          ({ queries, db, scope }, runId, owner) => queries.forgetLane(db, scope, { ...owner, runId }),
        ],
        ['they have another key', conform('read', 'key')],
        ['other fields are stored of them', conform('fields')],
      ])('which no run from before shows once %s, and one that fails afterwards neither', async (_what, clear) => {
        const lane = await openLane();
        await lane.read();
        const { id, attempt } = await lane.started();
        await clear(lane, id, { laneId: attempt.laneId, fence: attempt.fence });
        expect(await lane.isComplete()).toBe(false);
        await lane.record(attempt, receiptOf(id, 1, { position: listPosition(0) }));
        await lane.end(id, failed);
        expect(await lane.isComplete()).toBe(false);
        await lane.read({ trigger: 'backfill', backfill });
        expect(await lane.isComplete()).toBe(false);
        await lane.read();
        expect(await lane.isComplete()).toBe(true);
      });

      it('which stays as it is while they are read from the start, and a rewind shows like a run', async () => {
        const lane = await openLane();
        await lane.read();
        const { id, attempt } = await lane.started();
        await conform('read', 'cursor')(lane, id, { laneId: attempt.laneId, fence: attempt.fence });
        expect(await lane.isComplete()).toBe(true);
        await lane.queries.forgetLane(lane.db, lane.scope, { laneId: attempt.laneId, fence: attempt.fence, runId: id });
        await lane.end(id, failed);
        expect(await lane.isComplete()).toBe(false);
        await lane.read({ trigger: 'backfill', backfill: { from: null, force: true, rewind: true } });
        expect(await lane.isComplete()).toBe(true);
      });
    });

    it('keeps where a rewind begins', async () => {
      const { queries, db, scope, started } = await start();
      const { id, attempt } = await started({
        trigger: 'backfill',
        backfill: { from: null, force: true, rewind: true },
      });
      const conformation = {
        laneId: attempt.laneId,
        fence: attempt.fence,
        runId: id,
        before: null,
        meaning,
        changed: ['read'] as const,
      };
      expect(await queries.conformLane(db, scope, conformation)).toMatchObject({
        position: { stage: 'bury', after: null },
      });
    });
  });

  describe('of ends and cancels', () => {
    it('is immediate for a run that no workflow has taken, and is requested otherwise', async () => {
      const { queries, db, scope, insert, end, row, begin } = await start();
      const [untaken, taken] = [await insert(), await insert()];
      await queries.leaveToSweeper(db, scope, untaken);
      expect(await queries.requestCancel(db, scope, untaken)).toMatchObject({ status: 'canceled' });
      expect(await queries.requestCancel(db, scope, untaken)).toBeUndefined();
      expect(await queries.requestCancel(db, scope, taken)).toMatchObject({ status: 'queued' });
      expect(await begin(taken)).toBe('waiting');
      expect((await end(taken)).run).toMatchObject({ status: 'canceled' });
      expect(await row(taken)).toMatchObject({ cancelRequestedAt: expect.any(String) });
    });

    it('is the outcome that the records of the run allow', async () => {
      const { queries, db, scope, started, record, end } = await start();
      const quarantining = await started();
      const page = { ...receiptOf('', 1).pages[0], quarantined: 1 } as never;
      await record(quarantining.attempt, receiptOf(quarantining.id, 1, { pages: [page] }));
      expect(await queries.isClean(db, scope, quarantining.id)).toBe(false);
      expect((await end(quarantining.id)).run?.status).toBe('partial');
      const read = await started();
      expect(await queries.isClean(db, scope, read.id)).toBe(true);
      await record(read.attempt, receiptOf(read.id, 1));
      await queries.requestCancel(db, scope, read.id);
      expect((await end(read.id)).run?.status).toBe('succeeded');
    });

    it('is written with the last batch, as if that had been recorded before: nobody cancels the run any more', async () => {
      const { org, queries, db, scope, started, record, row } = await start();
      const finish = async (cancels: boolean, incomplete = false) => {
        const { id, attempt } = await started();
        await record(attempt, receiptOf(id, 1, { position: { stage: 'retry', after: null } }));
        if (cancels) await queries.requestCancel(db, scope, id);
        const last = receiptOf(id, 2, { records: [], incomplete });
        const { run, ended } = await queries.endRun(db, scope, { runId: id, ...succeeded, owner: attempt, last });
        expect(ended).toBe(true);
        expect(run).toMatchObject({ statsJson: { recordsIn: 4, recordsOut: 2 }, watermarkAfter: watermark });
        expect(await row(id)).toMatchObject({ batchNo: 2, pageNo: 2, readCompleted: true, status: run?.status });
        expect((await org.rows()).runPages.filter(({ runId }) => runId === id)).toHaveLength(2);
        return run?.status;
      };
      expect([await finish(false), await finish(true), await finish(false, true)]).toEqual([
        'succeeded',
        'succeeded',
        'partial',
      ]);
    });

    it('needs no ledger if its only batch is recorded with it: the run has the same numbers', async () => {
      const { org, queries, db, scope, started } = await start();
      const { id, attempt } = await started();
      const last = receiptOf(id, 1, { records: [] });
      const { run } = await queries.endRun(db, scope, { runId: id, ...succeeded, owner: attempt, last });
      expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 2 } });
      expect((await org.rows()).runPages).toEqual([]);
    });

    it('is not written with a batch that is not the next one, of a run that has ended, or by another attempt', async () => {
      const { queries, db, scope, started, take, end, row } = await start();
      const { id, attempt } = await started();
      const endWith = (batchNo: number, owner = attempt) => {
        const last = receiptOf(id, batchNo, { records: [] });
        return queries.endRun(db, scope, { runId: id, ...succeeded, owner, last });
      };
      await expect(endWith(2)).rejects.toMatchObject({ code: 'fenced' });
      expect(await row(id)).toMatchObject({ status: 'running', batchNo: 0 });
      const newer = await take(id);
      await expect(endWith(1)).rejects.toMatchObject({ code: 'fenced' });
      await end(id, failed);
      expect(await endWith(1, newer)).toMatchObject({ ended: false, run: { status: 'failed' } });
      expect(await row(id)).toMatchObject({ batchNo: 0, recordsIn: 0 });
    });

    it('is written by the holder of the lane, and breaks a connection that is active', async () => {
      const { org, queries, db, scope, started, begin, insert } = await start();
      const { id, attempt } = await started();
      const waiting = await insert();
      const owner = { laneId: attempt.laneId, fence: attempt.fence - 1 };
      const broken = { runId: id, outcome: failed, breaksConnection: true };
      await expect(queries.endRun(db, scope, { ...broken, owner })).rejects.toMatchObject({ code: 'fenced' });
      expect(await queries.endRun(db, scope, { ...broken, owner: attempt })).toMatchObject({ ended: true, next: [] });
      expect((await org.rows()).connections).toMatchObject([{ status: 'error' }]);
      expect(await begin(waiting)).toBe('canceled');
    });

    it('follows a pause: open runs are asked to stop, and none begins until the connection is active', async () => {
      const { org, queries, db, scope, started, insert, begin, row } = await start();
      const { id } = await started();
      const untaken = await insert();
      await queries.leaveToSweeper(db, scope, untaken);
      await org.pause();
      expect(await row(id)).toMatchObject({ status: 'running', cancelRequestedAt: expect.any(String) });
      expect(await row(untaken)).toMatchObject({ status: 'canceled' });
      const late = await insert({ resourceKey: 'b', concurrentMax: 9 });
      expect(await begin(late)).toBe('canceled');
      await org.activate();
      expect(await begin(await insert({ resourceKey: 'b', concurrentMax: 9 }))).toBe('running');
    });

    it('counts how many of the last runs failed at the login of the destination', async () => {
      const { queries, db, scope, connectionId, started, end } = await start();
      const login = { status: 'failed', error: { code: 'destination_login', message: 'm' } } as const;
      for (const outcome of [failed, login, login]) await end((await started()).id, outcome);
      expect(await queries.countLoginFailures(db, scope, { connectionId, last: 2 })).toBe(2);
      expect(await queries.countLoginFailures(db, scope, { connectionId, last: 3 })).toBe(2);
      await end((await started()).id);
      expect(await queries.countLoginFailures(db, scope, { connectionId, last: 2 })).toBe(1);
    });
  });

  describe('for the sweeper', () => {
    it('is which runs no workflow took, and which taken ones are silent', async () => {
      const { org, queries, db, scope, insert, begin } = await start();
      const [untaken, running] = [await insert(), await insert({ resourceKey: 'b' })];
      await queries.leaveToSweeper(db, scope, untaken);
      await begin(running);
      const find = async (olderThanMs: number) => {
        const options = { olderThanMs, limit: 100_000 };
        const found = [await queries.findUndispatchedRuns(db, options), await queries.findSilentRuns(db, options)];
        return found.map((list) => list.filter(({ orgId }) => orgId === scope.orgId).map(({ id }) => id));
      };
      expect(await find(30_000)).toEqual([[], []]);
      await org.passes(40_000);
      expect(await find(30_000)).toEqual([[untaken], [running]]);
      await queries.markDispatched(db, scope, untaken);
      await queries.markAlive(db, scope, running);
      expect(await find(30_000)).toEqual([[], []]);
      expect([
        await queries.countRestart(db, scope, running, 1),
        await queries.countRestart(db, scope, running, 1),
      ]).toEqual([true, false]);
    });
  });

  describe('of values that were looked up', () => {
    it('are those of the run or of all runs of the connection, until they expire', async () => {
      const { org, queries, db, scope, connectionId } = await start();
      const values = [{ key: 'k', value: '1', ttlSeconds: 60 }];
      const find = (runId: string | null) =>
        queries.findLookupValues(db, scope, { connectionId, runId, keys: ['k', 'l'] });
      await queries.putLookupValues(db, scope, { connectionId, runId: null, values });
      await queries.putLookupValues(db, scope, {
        connectionId,
        runId: 'run_1',
        values: [{ ...values[0], value: null } as never],
      });
      expect([await find(null), await find('run_1'), await find('run_2')]).toEqual([
        [{ key: 'k', value: '1' }],
        [{ key: 'k', value: null }],
        [],
      ]);
      await queries.dropLookupValues(db, scope, { connectionId, runId: 'run_1' });
      expect(await find('run_1')).toEqual([]);
      await org.passes(70_000);
      expect(await find(null)).toEqual([]);
    });
  });
});
