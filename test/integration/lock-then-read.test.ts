/** A statement sees what was committed before it began, not what was committed while it waited for a lock. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { receiptOf, takeOptions } from '../support/service/receipts.ts';
import { blockedBy, type HeldWrite, holdWrites } from '../support/service/sql-gate.ts';
import { laneRuns } from '../support/sync/lane-runs.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const { twoRuns, attempt } = laneRuns(() => database.db);

/** The result of `late`, which begins while `first` has written what is held, and which waits for its commit. */
async function whileCommitting<First, Late>(
  held: HeldWrite,
  first: () => Promise<First>,
  late: () => Promise<Late>,
): Promise<Late> {
  await using gate = await holdWrites(database.url, held);
  const writing = first();
  const holder = await gate.reached();
  const waiting = late();
  await blockedBy(database.url, holder);
  await gate.open();
  await writing;
  return await waiting;
}

describe('an attempt that waits for its lane', () => {
  it('takes nothing of a run that ends meanwhile', async () => {
    const { db } = database;
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const outcome = { status: 'succeeded', error: null } as const;
    const taken = await whileCommitting(
      { table: 'runs', on: 'update', when: `new.id = '${first}' and new.status = 'succeeded'` },
      () => endRun(db, scope, { runId: first, outcome, owner, last: receiptOf(first, 1), breaksConnection: false }),
      () => takeLane(db, scope, first, takeOptions()),
    );
    expect(taken).toBeUndefined();
    const lane = await db.selectFrom('lanes').select('fence').where('id', '=', owner.laneId).executeTakeFirst();
    expect(lane?.fence).toBe(owner.fence);
  });

  it('goes on behind the batch that is recorded meanwhile', async () => {
    const { db } = database;
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const position = { stage: 'partitions', next: 1, read: null } as never;
    const taken = await whileCommitting(
      { table: 'runs', on: 'update', when: `new.id = '${first}' and new.batch_no = 1` },
      () => recordBatch(db, scope, { owner, receipt: receiptOf(first, 1, { position }) }),
      () => takeLane(db, scope, first, takeOptions()),
    );
    expect(taken).toMatchObject({
      batchNo: 1,
      pageNo: 1,
      recordsIn: 2,
      position,
      attempts: 1,
      fenceBefore: owner.fence,
    });
  });
});
