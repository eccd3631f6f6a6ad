import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlStores, failed, openCase } from '../support/control-stores/case.ts';
import type { ControlStore } from '../support/control-stores/control-store.ts';
import { pageEntry, receiptOf, takeOptions, watermark } from '../support/service/receipts.ts';

describe.each(controlStores)('a control store on $name', ({ open }) => {
  let store: ControlStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store[Symbol.asyncDispose]());

  const start = () => openCase(store);

  describe('lanes', () => {
    it('lets one run at a time begin, in the order of arrival, and names the next one at its end', async () => {
      const { insert, begin, end } = await start();
      const [first, second, third] = [await insert(), await insert(), await insert()];
      expect([await begin(second), await begin(first), await begin(second)]).toEqual(['waiting', 'running', 'waiting']);
      expect(await end(first)).toMatchObject({ ended: true, next: [{ id: second }] });
      expect(await end(first)).toMatchObject({ ended: false, next: [{ id: second }] });
      expect([await begin(third), await begin(second), await begin(first)]).toEqual([
        'waiting',
        'running',
        'succeeded',
      ]);
    });

    it('has as many runs of a connection in progress as its API takes requests at once, people first', async () => {
      const { insert, begin, end } = await start();
      const running = await insert({ resourceKey: 'a' });
      const backfill = await insert({ resourceKey: 'b', trigger: 'backfill' });
      const schedule = await insert({ resourceKey: 'c', trigger: 'schedule' });
      const manual = await insert({ resourceKey: 'd' });
      for (const id of [running, backfill, schedule, manual]) await begin(id);
      expect(await begin(backfill)).toBe('waiting');
      expect((await end(running)).next.map(({ id }) => id)).toEqual([manual]);
      expect([await begin(schedule), await begin(manual)]).toEqual(['waiting', 'running']);
    });

    it('waits for no run that has not asked for 90 s', async () => {
      const { org, insert, begin, end } = await start();
      const [running, silent] = [await insert({ resourceKey: 'a' }), await insert({ resourceKey: 'b' })];
      await begin(running);
      expect(await begin(silent)).toBe('waiting');
      await org.passes(100_000);
      const later = await insert({ resourceKey: 'c', trigger: 'schedule' });
      expect(await begin(later)).toBe('waiting');
      expect((await end(running)).next.map(({ id }) => id)).toEqual([later]);
    });

    it('waits for runs of the resources that a run names', async () => {
      const { insert, begin, end } = await start();
      const above = await insert({ resourceKey: 'above', concurrentMax: 9 });
      const below = await insert({ resourceKey: 'below', waitsFor: ['above'], concurrentMax: 9 });
      expect(await begin(below)).toBe('waiting');
      await begin(above);
      expect(await begin(below)).toBe('waiting');
      expect((await end(above)).next.map(({ id }) => id)).toEqual([below]);
    });

    it('are not set forward by a rewind that was asked for before an earlier one began', async () => {
      const { insert, begin, started, record, end, run, partition } = await start();
      const { id, attempt } = await started();
      await record(attempt, receiptOf(id, 1));
      await end(id);
      const rewind = (from: string) => insert({ trigger: 'backfill', backfill: { from, force: true, rewind: true } });
      const { id: underWay } = await started();
      const [far, near] = [await rewind('2025-01-01T00:00:00.000Z'), await rewind(watermark)];
      await end(underWay);
      await begin(far);
      expect((await run(far))?.watermarkBefore).toBe('2025-01-01T00:00:00.000Z');
      await end(far, failed);
      await begin(near);
      expect((await run(near))?.watermarkBefore).toBeNull();
      expect(await partition(attempt.laneId)).toBeUndefined();
    });
  });

  describe('attempts', () => {
    it('give every attempt a greater fence, and refuse one that is older than its successor', async () => {
      const { take, started } = await start();
      const { id, attempt } = await started();
      const later = await take(id, takeOptions({ scheduledAtMs: attempt.fence + 10_000 }));
      expect(later).toMatchObject({ fence: attempt.fence + 10_000, fenceBefore: attempt.fence, attempts: 2 });
      expect((await take(id, takeOptions({ scheduledAtMs: attempt.fence + 9000 }))).fence).toBe(attempt.fence + 10_001);
    });

    it('refuse an attempt that was replaced long before it began', async () => {
      const { queries, db, scope, started } = await start();
      const { id, attempt } = await started();
      await expect(
        queries.takeLane(db, scope, id, takeOptions({ scheduledAtMs: attempt.fence - 5000 })),
      ).rejects.toMatchObject({
        code: 'fenced',
      });
    });

    it('do not exist for a run that does not run', async () => {
      const { queries, db, scope, insert, started, end } = await start();
      const { id } = await started();
      await end(id);
      expect(await queries.takeLane(db, scope, id, takeOptions())).toBeUndefined();
      expect(await queries.takeLane(db, scope, await insert(), takeOptions())).toBeUndefined();
    });

    it('are counted until a batch is recorded, and keep why the last one failed', async () => {
      const { queries, db, scope, take, started, record } = await start();
      const { id } = await started();
      await queries.noteFailure(db, scope, { runId: id, code: 'source_unavailable', message: 'down' });
      const second = await take(id);
      expect(second).toMatchObject({ attempts: 2, errorCode: 'source_unavailable', errorMessage: 'down' });
      await record(second, receiptOf(id, 1, { position: { stage: 'retry', after: null } }));
      expect(await take(id)).toMatchObject({ attempts: 1, errorCode: null, errorMessage: null, batchNo: 1 });
      await queries.resetAttempts(db, scope, id);
      expect(await take(id)).toMatchObject({ attempts: 1 });
    });

    it('of a run that was ended meanwhile take its error from it no more', async () => {
      const { queries, db, scope, started, end, run } = await start();
      const { id, attempt } = await started();
      await end(id, { status: 'failed', error: { code: 'orchestration_lost', message: 'lost' } });
      const position = { stage: 'retry', after: null } as const;
      await queries.addToDimension(db, scope, { runId: id, owner: attempt, dimension: 0, values: [], position });
      await queries.resetAttempts(db, scope, id);
      expect(await run(id)).toMatchObject({ status: 'failed', error: { code: 'orchestration_lost', message: 'lost' } });
    });
  });

  describe('batches', () => {
    it('move counts, records, watermark and position at once', async () => {
      const { started, record, run, take, partition, states } = await start();
      const { id, attempt } = await started();
      const position = { stage: 'retry', after: 'quar_9' } as const;
      expect(await record(attempt, receiptOf(id, 1, { position }))).toEqual({ outcome: 'recorded', stop: false });
      expect(await run(id)).toMatchObject({
        statsJson: { recordsIn: 2, recordsOut: 1, skipped: 1, quarantined: 0, deleted: 0 },
        watermarkAfter: watermark,
      });
      expect(await take(id)).toMatchObject({ batchNo: 1, pageNo: 1, position, readCompleted: false, recordsIn: 2 });
      expect(await partition(attempt.laneId)).toMatchObject({ watermark, validators: null });
      expect(await states(attempt.laneId, ['r1', 'r2'])).toEqual([
        { externalId: 'r1', hash: 'aGFzaA', cursor: null, status: 'delivered' },
      ]);
    });

    it('are recorded once, in order, and by the holder of the lane only', async () => {
      const { started, record, run, take } = await start();
      const { id, attempt } = await started();
      expect(await record(attempt, receiptOf(id, 2))).toEqual({ outcome: 'stale' });
      expect(await record(attempt, receiptOf('run_none', 1))).toEqual({ outcome: 'stale' });
      expect(await record(attempt, receiptOf(id, 1))).toMatchObject({ outcome: 'recorded' });
      expect(await record(attempt, receiptOf(id, 1))).toEqual({ outcome: 'stale' });
      const later = await take(id);
      expect(await record(attempt, receiptOf(id, 2))).toEqual({ outcome: 'fenced' });
      expect((await run(id))?.statsJson.recordsIn).toBe(2);
      expect(await record(later, receiptOf(id, 2))).toMatchObject({ outcome: 'recorded' });
    });

    it('leave nothing behind when a part of them cannot be stored', async () => {
      const { started, record, run, states } = await start();
      const { id, attempt } = await started();
      const page = pageEntry();
      await expect(record(attempt, receiptOf(id, 1, { pages: [page, page] }))).rejects.toThrow('');
      expect((await run(id))?.statsJson.recordsIn).toBe(0);
      expect(await states(attempt.laneId, ['r1'])).toEqual([]);
      expect(await record(attempt, receiptOf(id, 1))).toMatchObject({ outcome: 'recorded' });
    });

    it('say stop after a cancel and after the end of the run', async () => {
      const { queries, db, scope, started, record, end, row } = await start();
      const { id, attempt } = await started();
      expect(await queries.requestCancel(db, scope, id)).toMatchObject({ status: 'running' });
      expect(await record(attempt, receiptOf(id, 1))).toEqual({ outcome: 'recorded', stop: true });
      await end(id, failed);
      expect(await record(attempt, receiptOf(id, 2))).toEqual({ outcome: 'recorded', stop: true });
      expect(await row(id)).toMatchObject({ status: 'canceled', batchNo: 2 });
    });

    it('fail the run when a record was refused', async () => {
      const { started, record, take } = await start();
      const { id, attempt } = await started();
      await record(attempt, receiptOf(id, 1, { failure: 'refused' }));
      expect(await take(id)).toMatchObject({
        errorCode: 'record_invalid',
        errorMessage: 'refused',
        readCompleted: false,
      });
    });

    it('of an earlier run count for the run in which they were acknowledged', async () => {
      const { queries, db, scope, started, end, run, row } = await start();
      const earlier = await started();
      await end(earlier.id, failed);
      const { id, attempt } = await started();
      const carried = { owner: attempt, receipt: receiptOf(earlier.id, 1), runId: id };
      expect(await queries.recordCarried(db, scope, carried)).toEqual({ outcome: 'recorded', stop: true });
      expect(await queries.recordCarried(db, scope, carried)).toEqual({ outcome: 'stale' });
      expect((await run(id))?.statsJson).toMatchObject({ recordsIn: 0, recordsOut: 1, skipped: 0 });
      expect(await row(earlier.id)).toMatchObject({ recordsIn: 0, recordsOut: 0, batchNo: 1, errorCode: 'internal' });
    });
  });
});
