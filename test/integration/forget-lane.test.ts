import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attempt, takeLane } from '../../db/queries/attempts.ts';
import { recordBatch } from '../../db/queries/batches.ts';
import { forgetLane } from '../../db/queries/forget-lane.ts';
import { beginRun } from '../../db/queries/lanes.ts';
import { findRecordStates } from '../../db/queries/record-state.ts';
import { addToDimension } from '../../db/queries/run-dimensions.ts';
import { insertRun } from '../../db/queries/runs.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { newRun, receiptOf, watermark } from '../support/receipts.ts';
import { insertTestConnection } from '../support/rows.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

describe('forgetting a lane', () => {
  it('lets the run begin again from nothing, while its counts and its ledger stay', async () => {
    const { scope, runId, attempt } = await recordedRun();
    const { laneId, fence } = attempt;
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toEqual({ records: 1, position: null });
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
    const position = { stage: 'list', dimension: 1, after: null, read: null, listedAt: null } as const;
    const list = () =>
      addToDimension(database.db, scope, { runId, owner: attempt, dimension: 0, values: [], position });
    await list();
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({ position: null });
    await list();
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toMatchObject({ position });
  });

  it('is repeated without harm', async () => {
    const { scope, runId, attempt } = await recordedRun();
    const { laneId, fence } = attempt;
    await forgetLane(database.db, scope, { laneId, fence, runId });
    expect(await forgetLane(database.db, scope, { laneId, fence, runId })).toEqual({ records: 0, position: null });
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

/** A run of a new connection with one batch, the last of its read. */
async function recordedRun() {
  const { orgId, connectionId } = await insertTestConnection(database.db);
  const scope = orgScope(orgId);
  const { id: runId } = await insertRun(database.db, scope, newRun(connectionId));
  await beginRun(database.db, scope, runId);
  const attempt = await take(scope, runId);
  await recordBatch(database.db, scope, { owner: attempt, receipt: receiptOf(runId, 1) });
  await database.db.updateTable('runs').set({ watermarkBefore: watermark }).where('id', '=', runId).execute();
  return { scope, runId, attempt };
}

async function take(scope: OrgScope, runId: string): Promise<Attempt> {
  const attempt = await takeLane(database.db, scope, runId);
  if (!attempt) throw new Error('The run does not run');
  return attempt;
}

const known = (scope: OrgScope, laneId: number) =>
  findRecordStates(database.db, scope, { laneId, externalIds: ['r1'] });
