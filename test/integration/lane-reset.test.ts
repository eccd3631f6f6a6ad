import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../db/client.ts';
import { lockConnection } from '../../db/queries/connections/connections.ts';
import { type Attempt, takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { requestReset } from '../../db/queries/runs/lanes/lane-reset.ts';
import { findRecordStates } from '../../db/queries/runs/records/record-state.ts';
import { findRun, insertRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import type { Reset } from '../../src/core/spec/connection/upgrade-plan.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { newRun, receiptOf, takeOptions, watermark } from '../support/service/receipts.ts';
import { insertTestConnection } from '../support/service/rows.ts';
import { blockedBy } from '../support/service/sql-gate.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

describe('a lane that is to start over', () => {
  it('lets the next run begin without a watermark, and keeps what is known of records', async () => {
    const lane = await syncedLane();
    await lane.reset('watermark');
    const { watermarkBefore } = await lane.begin();
    expect(watermarkBefore).toBeNull();
    expect(await lane.known()).toBe(1);
  });

  it('forgets the records, too, when their keys change; the larger of two resets holds', async () => {
    const lane = await syncedLane();
    await lane.reset('state');
    await lane.reset('watermark');
    await lane.begin();
    expect(await lane.known()).toBe(0);
  });

  it('starts over once: the run after that has its watermark again', async () => {
    const lane = await syncedLane();
    await lane.reset('watermark');
    await lane.sync(await lane.begin());
    expect((await lane.begin()).watermarkBefore).toBe(watermark);
  });

  it('starts over with the next run, although that waits to begin while the reset is requested', async () => {
    const lane = await syncedLane();
    const next = await database.db.transaction().execute(async (tx) => {
      // As an upgrade does.
      await lockConnection(tx, lane.scope, lane.connectionId);
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      const begun = lane.begin();
      await blockedBy(database.url, rows[0]?.pid ?? 0);
      await lane.reset('watermark', tx);
      return { begun };
    });
    expect((await next.begun).watermarkBefore).toBeNull();
  });

  it('leaves a run that is in progress alone: the one after it starts over', async () => {
    const lane = await syncedLane();
    const inProgress = await lane.begin();
    await lane.reset('state');
    await lane.sync(inProgress);
    expect(await lane.known()).toBe(1);
    expect((await lane.begin()).watermarkBefore).toBeNull();
    expect(await lane.known()).toBe(0);
  });

  it('is not brought back by the last batch of an earlier run that only the destination knows of', async () => {
    const lane = await syncedLane();
    const cut = await lane.begin();
    await lane.end(cut.runId);
    await lane.reset('watermark');
    const next = await lane.begin();
    const late = await recordBatch(database.db, lane.scope, { owner: next.attempt, receipt: receiptOf(cut.runId, 1) });
    expect(late).toEqual({ outcome: 'stale' });
    await lane.end(next.runId);
    expect((await lane.begin()).watermarkBefore).toBeNull();
  });

  it('touches no other lane', async () => {
    const [lane, other] = [await syncedLane(), await syncedLane()];
    await lane.reset('state');
    await lane.begin();
    expect((await other.begin()).watermarkBefore).toBe(watermark);
    expect(await other.known()).toBe(1);
  });
});

interface Begun {
  readonly runId: string;
  readonly attempt: Attempt;
  readonly watermarkBefore: string | null | undefined;
}

/** A lane with one successful run behind it. */
async function syncedLane() {
  const { db } = database;
  const { orgId, connectionId } = await insertTestConnection(db);
  const scope = orgScope(orgId);
  const begin = async (): Promise<Begun> => {
    const { id: runId } = await insertRun(db, scope, newRun(connectionId));
    await beginRun(db, scope, runId);
    const attempt = await takeLane(db, scope, runId, takeOptions());
    if (!attempt) throw new Error('No such run');
    return { runId, attempt, watermarkBefore: (await findRun(db, scope, runId))?.watermarkBefore };
  };
  const end = (runId: string) =>
    endRun(db, scope, { runId, outcome: { status: 'succeeded', error: null }, breaksConnection: false });
  const sync = async ({ runId, attempt }: Begun) => {
    const recorded = await recordBatch(db, scope, { owner: attempt, receipt: receiptOf(runId, 1) });
    if (recorded.outcome !== 'recorded') throw new Error(recorded.outcome);
    await end(runId);
  };
  const first = await begin();
  await sync(first);
  return {
    scope,
    begin,
    end,
    sync,
    connectionId,
    reset: (reset: Reset, tx: Db = db) => requestReset(tx, scope, { connectionId, resourceKey: 'a', reset }),
    known: async () =>
      (await findRecordStates(db, scope, { laneId: first.attempt.laneId, externalIds: ['r1'] })).length,
  };
}
