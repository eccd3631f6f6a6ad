import { sql } from 'kysely';
import { takenOver } from '../../../src/core/errors.ts';
import { storableText } from '../../../src/core/json/storable-text.ts';
import type { RecordedRun } from '../../../src/core/run/repair.ts';
import type { Db } from '../../client.ts';
import type { Backfill } from '../../schema.ts';
import type { OrgScope } from '../../scope.ts';
import type { BatchOwner } from './batch-owner.ts';

/** What an attempt at a run needs to continue where the last one stopped. */
export interface Attempt extends Omit<RecordedRun, 'runId'> {
  readonly laneId: number;
  /** Of the previous attempt, of any run. */
  readonly fenceBefore: number;
  readonly startedAt: string | null;
  readonly cancelRequestedAt: string | null;
  /** Attempts since the last recorded batch, this one included. */
  readonly attempts: number;
  /** Place of the run in its lane; later runs have greater ones. */
  readonly seq: number;
  /** Null: an ordinary run. */
  readonly backfill: Backfill | null;
  /**
   * Fingerprint of the destination that has nothing which is not recorded here; null: it may have more. Whoever asks it for
   * anything calls {@link unsettleLane} before.
   */
  readonly settledWith: string | null;
  /** Why the attempt before failed; null: it did not, or there was none. */
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

/**
 * How far Temporal's clock may jump back, ms. An attempt is only ever replaced after its heartbeat timeout (5 s), so a
 * late one is older than its successor by more than this.
 */
const clockJumpMsMax = 2000;

/** Then a destination is asked even if there is nothing to deliver: one that has lost its rows is noticed, hours. */
const settledHoursMax = 24;

/**
 * Takes the lane for a new attempt at the run: every earlier attempt can record nothing more. Undefined: no such run, or
 * it does not run.
 *
 * @param scheduledAtMs when Temporal scheduled the attempt, ms since the epoch. It is what fences are made of: an
 * attempt that was handed to a frozen worker and begins long after it was replaced must not take the lane from its
 * successor.
 * Throws `fenced` when the lane is held by a later attempt.
 */
export async function takeLane(
  db: Db,
  scope: OrgScope,
  runId: string,
  scheduledAtMs = Date.now(),
): Promise<Attempt | undefined> {
  return db.transaction().execute(async (tx) => {
    const lane = await tx
      .with('before', (cte) =>
        cte
          .selectFrom('lanes')
          .innerJoin('runs', 'runs.laneId', 'lanes.id')
          .select([
            'lanes.id',
            'lanes.fence',
            sql<string | null>`case when lanes.settled_at > now() - make_interval(hours => ${settledHoursMax})
              then lanes.settled_with end`.as('settledWith'),
          ])
          .where('runs.orgId', '=', scope.orgId)
          .where('runs.id', '=', runId)
          .where('runs.status', '=', 'running')
          .forNoKeyUpdate('lanes'),
      )
      .updateTable('lanes')
      .from('before')
      .set({ fence: sql<number>`greatest(before.fence + 1, ${scheduledAtMs}::bigint)` })
      .whereRef('before.id', '=', 'lanes.id')
      .where((eb) =>
        // A fence ahead of our clock was made with a wrong clock and blocks no attempt.
        eb.or([
          eb('before.fence', '<=', scheduledAtMs + clockJumpMsMax),
          eb('before.fence', '>', sql<number>`extract(epoch from now()) * 1000 + ${clockJumpMsMax}`),
        ]),
      )
      .returning(['lanes.id as laneId', 'lanes.fence', 'before.fence as fenceBefore', 'before.settledWith'])
      .executeTakeFirst();
    if (!lane && (await isRunning(tx, scope, runId))) throw takenOver();
    if (!lane) return undefined;
    const run = await tx
      .updateTable('runs')
      .set((eb) => ({ attempts: eb('attempts', '+', 1), progressedAt: sql<string>`now()` }))
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .returning([
        'connectionId',
        'resourceKey',
        'startedAt',
        'cancelRequestedAt',
        'attempts',
        'batchNo',
        'pageNo',
        'position',
        'readCompleted',
        'watermarkBefore',
        'recordsIn',
        'invalid',
        'seq',
        'backfill',
        'errorCode',
        'errorMessage',
      ])
      .executeTakeFirstOrThrow();
    return { ...lane, ...run };
  });
}

/** From here on the destination of a lane may have what is not recorded here. False: a newer attempt holds the lane. */
export async function unsettleLane(db: Db, scope: OrgScope, { laneId, fence }: BatchOwner): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('lanes')
    .set({ settledWith: null, settledAt: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', laneId)
    .where('fence', '=', fence)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

async function isRunning(db: Db, scope: OrgScope, runId: string): Promise<boolean> {
  const running = db
    .selectFrom('runs')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('status', '=', 'running');
  return (await running.executeTakeFirst()) !== undefined;
}

/** Ends the count of attempts without progress: the attempt ended in order, for instance because the API asked to wait. */
export async function resetAttempts(db: Db, scope: OrgScope, runId: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ attempts: 0, errorCode: null, errorMessage: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .execute();
}

/** Keeps why an attempt failed: should the next ones get no further, the run ends with it. */
export async function noteFailure(
  db: Db,
  scope: OrgScope,
  { runId, code, message }: { readonly runId: string; readonly code: string; readonly message: string },
): Promise<void> {
  await db
    .updateTable('runs')
    .set({ errorCode: code, errorMessage: storableText(message) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .execute();
}
