import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attempt, takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { forgetLane } from '../../db/queries/runs/lanes/forget-lane.ts';
import { noteLeftovers } from '../../db/queries/runs/lanes/leftovers.ts';
import { rewindStart } from '../../db/queries/runs/lanes/rewind.ts';
import { findRecordStates } from '../../db/queries/runs/records/record-state.ts';
import { addToDimension, clearDimension } from '../../db/queries/runs/run-dimensions.ts';
import { insertRun } from '../../db/queries/runs/runs.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { listBegin, type PartitionPosition } from '../../src/core/model/run-position.ts';
import { firstPosition } from '../../src/core/source/read/read-window.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { newRun, receiptOf, takeOptions, watermark } from '../support/service/receipts.ts';
import { insertTestConnection } from '../support/service/rows.ts';

const partitionBegin: PartitionPosition = {
  stage: 'partition',
  no: 0,
  step: 'read',
  read: null,
  watermarkBefore: null,
  validators: null,
  gaps: [],
  totals: { count: 1, skipped: 0, gaps: [] },
  listedAt: null,
};
const plan = {
  fingerprint: 'f',
  kind: 'full',
  cursor: null,
  watermarkBefore: null,
  start: null,
  readAt: null,
  sentWatermark: null,
  backfill: false,
  isOpen: false,
  startsOver: false,
  firstPage: { index: 1, number: 1, offset: 0, cursor: null, url: null },
} as const;

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

describe('forgetting a lane', () => {
  it('lets the run begin again from nothing, while its counts and its ledger stay', async () => {
    const { scope, runId, attempt } = await recordedRun();
    const { laneId, fence } = attempt;
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({
      records: 1,
      position: null,
    });
    expect(await known(scope, laneId)).toEqual([]);
    expect(await take(scope, runId)).toMatchObject({
      batchNo: 1,
      pageNo: 1,
      recordsIn: 2,
      position: null,
      readCompleted: false,
      watermarkBefore: null,
    });
    const left = await database.db.selectFrom('partitions').selectAll().where('laneId', '=', laneId).execute();
    expect(left).toEqual([]);
  });

  it('leaves a list of partitions that was begun since as it is', async () => {
    const { scope, runId, attempt } = await recordedRun();
    const { laneId, fence } = attempt;
    const position = { ...listBegin, dimension: 1 };
    const list = () =>
      addToDimension(database.db, scope, { runId, owner: attempt, dimension: 0, values: [], position });
    await list();
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({ position: null });
    await list();
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({ position });
  });

  it('leaves a report job that the run waits for as it is, and no other page of a partition', async () => {
    const { scope, runId, attempt } = await recordedRun();
    const { laneId, fence } = attempt;
    const moveTo = (position: PartitionPosition) =>
      addToDimension(database.db, scope, { runId, owner: attempt, dimension: -9, values: [], position });
    const read = firstPosition(plan, new Date());
    const withJob = { ...partitionBegin, read: { ...read, job: { id: '1', createdAt: read.runStart, values: {} } } };
    await moveTo(withJob);
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({ position: null });
    await moveTo(withJob);
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({
      records: 0,
      position: withJob,
    });
    // The window of a job that is about to be created.
    const before = { ...partitionBegin, read };
    await moveTo(before);
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({
      records: 0,
      position: before,
    });
    await moveTo({ ...partitionBegin, read: { ...read, pagesRead: 1 } });
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({
      records: 0,
      position: null,
    });
  });

  it('leaves a list of partitions as it is where only rows are known that the destination had before', async () => {
    const { scope, runId, attempt } = await recordedRun();
    const { laneId, fence } = attempt;
    await forgetLane(database.db, scope, { laneId, fence, runId });
    const position = { ...listBegin, dimension: 1 };
    await addToDimension(database.db, scope, { runId, owner: attempt, dimension: 0, values: [], position });
    expect(await noteLeftovers(database.db, scope, { owner: attempt, externalIds: ['r1', 'r2'] })).toBe(true);
    expect(await known(scope, laneId)).toMatchObject([{ hash: '', status: 'delivered' }]);
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({ position });
  });

  it('has a rewind repeat the deletes, unless it has begun since to list partitions or to wait for a report', async () => {
    const { scope, runId, attempt } = await recordedRun({ backfill: { from: null, force: true, rewind: true } });
    const { laneId, fence } = attempt;
    const read = firstPosition(plan, new Date());
    const withJob = { ...partitionBegin, read: { ...read, job: { id: '1', createdAt: read.runStart, values: {} } } };
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({ position: rewindStart });
    for (const position of [{ ...listBegin, dimension: 1 }, withJob]) {
      await addToDimension(database.db, scope, { runId, owner: attempt, dimension: -9, values: [], position });
      expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({ records: 0, position });
    }
  });

  it('is repeated without harm', async () => {
    const { scope, runId, attempt } = await recordedRun();
    const { laneId, fence } = attempt;
    await forgetLane(database.db, scope, { laneId, fence, runId });
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({
      records: 0,
      position: null,
    });
  });

  it('changes nothing for an attempt that lost the lane', async () => {
    const { scope, runId, attempt } = await recordedRun();
    const { laneId, fence } = attempt;
    await take(scope, runId);
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toBeNull();
    expect(await known(scope, laneId)).toHaveLength(1);
  });

  it('touches no other lane', async () => {
    const { scope, runId, attempt } = await recordedRun();
    const other = await recordedRun();
    await forgetLane(database.db, scope, { laneId: attempt.laneId, fence: attempt.fence, runId });
    expect(await known(other.scope, other.attempt.laneId)).toHaveLength(1);
  });
});

describe('the partitions of a run', () => {
  it('stay as they are when an attempt that lost the lane begins to list', async () => {
    const { scope, runId, attempt: late } = await recordedRun();
    const owner = await take(scope, runId);
    const position = { ...listBegin, after: 'b' };
    const list = (...keys: readonly string[]) => {
      const values = keys.map((key) => ({ key, value: key }));
      return addToDimension(database.db, scope, { runId, owner, dimension: 0, values, position });
    };
    await list('a', 'b', 'a');
    expect(await clearDimension(database.db, scope, { runId, owner: late, dimension: 0 })).toBe(false);
    await list('b', 'c');
    const listed = database.db.selectFrom('runDimensions').select(['no', 'key']).where('runId', '=', runId);
    expect(await listed.orderBy('no').execute()).toEqual([
      { no: 0, key: 'a' },
      { no: 1, key: 'b' },
      { no: 2, key: 'c' },
    ]);
  });
});

describe('a receipt', () => {
  it('moves no run of another lane, whatever it says', async () => {
    const { scope, attempt } = await recordedRun();
    const { id: runId } = await insertRun(
      database.db,
      scope,
      newRun(attempt.connectionId, { resourceKey: 'b', concurrentMax: 2 }),
    );
    await beginRun(database.db, scope, runId);
    expect(await recordBatch(database.db, scope, { owner: attempt, receipt: receiptOf(runId, 1) })).toEqual({
      outcome: 'stale',
    });
  });
});

/** A run of a new connection with one batch, the last of its read. */
async function recordedRun(parts: Parameters<typeof newRun>[1] = {}) {
  const { orgId, connectionId } = await insertTestConnection(database.db);
  const scope = orgScope(orgId);
  const { id: runId } = await insertRun(database.db, scope, newRun(connectionId, parts));
  await beginRun(database.db, scope, runId);
  const attempt = await take(scope, runId);
  await recordBatch(database.db, scope, { owner: attempt, receipt: receiptOf(runId, 1) });
  await database.db.updateTable('runs').set({ watermarkBefore: watermark }).where('id', '=', runId).execute();
  return { scope, runId, attempt };
}

async function take(scope: OrgScope, runId: string): Promise<Attempt> {
  const attempt = await takeLane(database.db, scope, runId, takeOptions());
  if (!attempt) throw new Error('The run does not run');
  return attempt;
}

const known = (scope: OrgScope, laneId: number) =>
  findRecordStates(database.db, scope, { laneId, externalIds: ['r1'] });
