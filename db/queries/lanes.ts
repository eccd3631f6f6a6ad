import { sql } from 'kysely';
import { AppError } from '../../src/core/errors.ts';
import type { RunStatus } from '../../src/core/rows.ts';
import type { ReadPosition } from '../../src/core/source/read-position.ts';
import type { Db } from '../client.ts';
import type { OrgScope } from '../scope.ts';

/** The id of the lane of a connection and resource, made when it is not there yet. */
export async function ensureLane(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey }: { readonly connectionId: string; readonly resourceKey: string },
): Promise<number> {
  const key = { orgId: scope.orgId, connectionId, resourceKey };
  const made = await db
    .insertInto('lanes')
    .values(key)
    .onConflict((conflict) => conflict.columns(['orgId', 'connectionId', 'resourceKey']).doNothing())
    .returning('id')
    .executeTakeFirst();
  if (made) return made.id;
  const lane = await db
    .selectFrom('lanes')
    .select('id')
    .where('orgId', '=', key.orgId)
    .where('connectionId', '=', connectionId)
    .where('resourceKey', '=', resourceKey)
    .executeTakeFirstOrThrow();
  return lane.id;
}

/**
 * Lets the run begin if it is its turn: nothing of its lane runs, nobody queued before it, and its connection has not
 * as many runs under way as its API takes requests at once.
 *
 * @returns `running`: it holds the lane (also when it began earlier: safe to repeat); `waiting`: not its turn;
 * a final status: somebody ended it meanwhile; null: no such run.
 */
export async function beginRun(
  db: Db,
  scope: OrgScope,
  runId: string,
): Promise<Exclude<RunStatus, 'queued'> | 'waiting' | null> {
  return db.transaction().execute(async (tx) => {
    // The lock on the connection orders competing beginners; the partial unique index is the last line behind it.
    await tx
      .selectFrom('connections')
      .innerJoin('runs', 'runs.connectionId', 'connections.id')
      .select('connections.id')
      .where('runs.orgId', '=', scope.orgId)
      .where('runs.id', '=', runId)
      .forNoKeyUpdate('connections')
      .execute();
    await sql`
      update runs set status = 'running', started_at = now(), progressed_at = now(),
        watermark_before = (select min(watermark) from watermarks w where w.lane_id = runs.lane_id),
        watermark_after = (select min(watermark) from watermarks w where w.lane_id = runs.lane_id)
      where org_id = ${scope.orgId} and id = ${runId} and status = 'queued' and cancel_requested_at is null
        and not exists (
          select 1 from runs other
          where other.lane_id = runs.lane_id
            and (other.status = 'running' or (other.status = 'queued' and other.seq < runs.seq)))
        and concurrent_max > (
          select count(*) from runs other where other.connection_id = runs.connection_id and other.status = 'running')`.execute(
      tx,
    );
    const run = await tx
      .selectFrom('runs')
      .select('status')
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .executeTakeFirst();
    if (!run) return null;
    return run.status === 'queued' ? 'waiting' : run.status;
  });
}

/** What an attempt at a run needs to go on where the last one stopped. */
export interface Attempt {
  readonly laneId: number;
  /** Larger than that of every earlier attempt on the lane. */
  readonly fence: number;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly startedAt: string | null;
  readonly cancelRequestedAt: string | null;
  /** Attempts since the last recorded batch, this one included. */
  readonly attempts: number;
  readonly batchNo: number;
  readonly pageNo: number;
  readonly position: ReadPosition | null;
  readonly readCompleted: boolean;
  readonly watermarkBefore: string | null;
  readonly recordsIn: number;
}

/**
 * How far Temporal's clock may jump back, ms. An attempt is only ever replaced after its heartbeat timeout (5 s), so a
 * late one is older than its successor by more than this.
 */
const clockJumpMsMax = 2000;

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
      .updateTable('lanes')
      .from('runs')
      .set({ fence: sql<number>`greatest(lanes.fence + 1, ${scheduledAtMs}::bigint)` })
      .whereRef('runs.laneId', '=', 'lanes.id')
      .where('runs.orgId', '=', scope.orgId)
      .where('runs.id', '=', runId)
      .where('runs.status', '=', 'running')
      .where('lanes.fence', '<=', scheduledAtMs + clockJumpMsMax)
      .returning(['lanes.id as laneId', 'lanes.fence'])
      .executeTakeFirst();
    if (!lane && (await isRunning(tx, scope, runId))) {
      throw new AppError('fenced', 'A later attempt has taken over this run');
    }
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
      ])
      .executeTakeFirstOrThrow();
    return { ...lane, ...run };
  });
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

/** The outcome of a run; `succeeded` becomes `partial` when records were quarantined. */
export interface RunOutcome {
  readonly status: 'succeeded' | 'partial' | 'failed' | 'canceled';
  /** Null unless it failed. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** A run that may begin now that another has ended. */
export interface NextRun {
  readonly id: string;
  readonly resourceKey: string;
}

/**
 * Writes the final status and names the runs whose turn may have come: the first in each lane of the connection that
 * nothing runs in.
 *
 * @returns those runs, and whether this call ended the run: a repeat finds it ended and changes nothing.
 */
export async function endRun(
  db: Db,
  scope: OrgScope,
  { runId, outcome }: { readonly runId: string; readonly outcome: RunOutcome },
): Promise<{ readonly ended: boolean; readonly next: readonly NextRun[] }> {
  return db.transaction().execute(async (tx) => {
    const succeeded = sql<RunStatus>`case
      when cancel_requested_at is not null and not read_completed then 'canceled'
      when quarantined > 0 or ${outcome.status === 'partial'} then 'partial'
      else 'succeeded' end`;
    const readOn = outcome.status === 'succeeded' || outcome.status === 'partial';
    const ended = await tx
      .updateTable('runs')
      .set({
        status: readOn ? succeeded : outcome.status,
        finishedAt: sql`now()`,
        errorCode: outcome.error?.code ?? null,
        errorMessage: outcome.error?.message ?? null,
      })
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .where('status', 'in', ['queued', 'running'])
      .returning('laneId')
      .executeTakeFirst();
    return { ended: ended !== undefined, next: await findNextRuns(tx, scope, runId) };
  });
}

/** The first queued run of each idle lane of the connection that `runId` belongs to. */
async function findNextRuns(db: Db, scope: OrgScope, runId: string): Promise<NextRun[]> {
  const { rows } = await sql<NextRun>`
    select distinct on (queued.lane_id) queued.id, queued.resource_key
    from runs ended
    join runs queued on queued.connection_id = ended.connection_id and queued.status = 'queued'
    where ended.org_id = ${scope.orgId} and ended.id = ${runId}
      and not exists (select 1 from runs busy where busy.lane_id = queued.lane_id and busy.status = 'running')
    order by queued.lane_id, queued.seq`.execute(db);
  return rows;
}

/** Ends the count of attempts without progress: the attempt ended in order, for instance because the API asked to wait. */
export async function forgiveAttempts(db: Db, scope: OrgScope, runId: string): Promise<void> {
  await db.updateTable('runs').set({ attempts: 0 }).where('orgId', '=', scope.orgId).where('id', '=', runId).execute();
}
