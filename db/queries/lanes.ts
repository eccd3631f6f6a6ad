import { sql } from 'kysely';
import type { RunRow, RunStatus } from '../../src/core/rows.ts';
import type { Db } from '../client.ts';
import type { OrgScope } from '../scope.ts';
import { findRun } from './runs.ts';

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

/** A run that has its final status. */
export interface EndedRun {
  /** Undefined: there is no such run. */
  readonly run: RunRow | undefined;
  /** True when this call ended it; a repeat finds it ended and changes nothing. */
  readonly ended: boolean;
  readonly next: readonly NextRun[];
}

/**
 * Writes the final status and names the runs whose turn may have come: the first in each lane of the connection that
 * nothing runs in.
 */
export async function endRun(
  db: Db,
  scope: OrgScope,
  { runId, outcome }: { readonly runId: string; readonly outcome: RunOutcome },
): Promise<EndedRun> {
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
    const run = await findRun(tx, scope, runId);
    return { run, ended: ended !== undefined, next: await findNextRuns(tx, scope, runId) };
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
