import { sql } from 'kysely';
import { takenOver } from '../../../../src/core/errors.ts';
import { connectionFailed, connectionReauthRequired } from '../../../../src/core/events/connection-events.ts';
import { storableText } from '../../../../src/core/json/storable-text.ts';
import type { Receipt } from '../../../../src/core/model/receipt.ts';
import { publishRunEnded } from '../../../../src/core/observations.ts';
import type { RunRow, RunStatus } from '../../../../src/core/resources/run.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { recordConnectionEvents } from '../../connections/connection-events.ts';
import { errorColumns } from '../../connections/retests.ts';
import { noteStatusChange } from '../../schedules.ts';
import { type BatchOwner, holdsLane } from '../batches/batch-owner.ts';
import type { AddressedRun } from '../firings.ts';
import { runColumns } from '../run-columns.ts';
import { closePartitions } from '../run-dimensions.ts';
import { cancelRequestedColumn, connectionColumn, recordRunEnd } from '../run-events.ts';
import { findRun } from '../runs.ts';
import { type EndedRow, endWithBatch } from './end-with-batch.ts';
import { findNextRuns } from './turns.ts';

/** The outcome of a run; `succeeded` becomes `partial` when records were quarantined or something was left out. */
export interface RunOutcome {
  readonly status: 'succeeded' | 'partial' | 'failed' | 'canceled';
  /** Null unless it failed. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** A run that has its final status. */
export interface EndedRun {
  /** The run; undefined: there is none. */
  readonly run: RunRow | undefined;
  /** True when this call ended it; a repeat finds it ended and changes nothing. */
  readonly ended: boolean;
  /** The number of endpoints for which an event waits on account of this. */
  readonly eventsFor: number;
  /** The runs that may begin now that it has ended. */
  readonly next: readonly AddressedRun[];
}

/** A lane whose destination has nothing that is not recorded here. */
interface LeftLane {
  /** Fingerprint of the destination. */
  readonly recordedWith: string;
  /** The run was quick. */
  readonly quick: boolean;
}

/** How a run is to end, and what that means for its connection. */
export interface RunEnd {
  readonly runId: string;
  readonly outcome: RunOutcome;
  /** The attempt that ends it, which must hold the lane; null or absent: it is none. */
  readonly owner?: BatchOwner | null;
  /** The receipt of its last batch, if that is not recorded yet: the run has succeeded, and `owner` is set. */
  readonly last?: Receipt | null;
  /** How it leaves the lane; null or absent: as the attempt found it, or as it marked it since. */
  readonly left?: LeftLane | null;
  /** Whether the run may have listed partitions; false: it has listed none. */
  readonly hasPartitions?: boolean;
  /** When the run fails, an active connection goes to `error`. */
  readonly breaksConnection: boolean;
  /**
   * The system at which its customer has to authorize a connection that breaks; absent: authorizing does not fix it.
   */
  readonly provider?: string | null;
  /** Whether a test of the connection can show that it is mended; absent: it can. */
  readonly isTestable?: boolean;
}

/**
 * Writes the final status and names the runs of the org whose turn has come, as many as it has places for. Whoever asked
 * to cancel gets `canceled`, unless the read was complete before. Throws `fenced` when `owner` does not hold the lane any
 * more.
 */
export async function endRun(db: Db, scope: OrgScope, end: RunEnd): Promise<EndedRun> {
  const { runId, owner, last, breaksConnection } = end;
  const made = await db.transaction().execute(async (tx) => {
    // Whoever pauses or changes the connection locks it before its runs.
    if (breaksConnection) await lockConnectionOf(tx, scope, runId);
    const ended =
      owner && last ? await endWithBatch(tx, scope, { owner, receipt: last }) : await writeEnd(tx, scope, end);
    if (!ended && owner && !(await holdsLane(tx, scope, owner))) throw takenOver();
    if (!ended) {
      const run = await findRun(tx, scope, runId);
      // The attempt began at an older batch than the last: another one reads on from there.
      if (last && run?.status === 'running') throw takenOver();
      return { run, ended: false, eventsFor: 0 };
    }
    const watermark = end.hasPartitions === false ? undefined : await closePartitions(tx, scope, runId);
    if (owner && end.left) await leaveLane(tx, scope, { laneId: owner.laneId, ...end.left });
    const { cancelRequested, connection: facts, ...row } = ended;
    const run = watermark === undefined ? row : { ...row, watermarkAfter: watermark };
    const broken =
      breaksConnection && run.status === 'failed' && (await breakConnection(tx, scope, run, end.isTestable ?? true));
    const connection = broken ? { ...facts, status: 'error' as const } : facts;
    const ofRun = await recordRunEnd(tx, scope, { run, connection, cancelRequested });
    const ofBreak = broken ? await recordBreak(tx, scope, { run, provider: end.provider ?? null }) : 0;
    return { run, ended: true, eventsFor: ofRun + ofBreak };
  });
  if (made.ended && made.run) publishRunEnded(made.run);
  // Read after the commit: the end of the run does not wait for this query.
  return { ...made, next: await findNextRuns(db, scope, runId) };
}

async function lockConnectionOf(tx: Db, scope: OrgScope, runId: string): Promise<void> {
  await tx
    .selectFrom('connections')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', (eb) =>
      eb.selectFrom('runs').select('connectionId').where('orgId', '=', scope.orgId).where('id', '=', runId),
    )
    .forNoKeyUpdate()
    .execute();
}

/** Writes the final status; undefined: the run has ended before, or `owner` does not hold the lane. */
async function writeEnd(
  tx: Db,
  scope: OrgScope,
  { runId, outcome, owner }: Pick<RunEnd, 'runId' | 'outcome' | 'owner'>,
): Promise<EndedRow | undefined> {
  // Locked as for a batch: either this commits first, or it sees the newer fence.
  const holds = owner
    ? sql<boolean>`(select fence from lanes where org_id = ${scope.orgId} and id = ${owner.laneId} for share) = ${owner.fence}`
    : sql<boolean>`true`;
  const failed = outcome.status === 'failed';
  const canceled = sql<boolean>`(cancel_requested_at is not null or ${outcome.status === 'canceled'})`;
  return await tx
    .updateTable('runs')
    .set({
      status: sql<RunStatus>`case
        when ${canceled} and (${failed} or not read_completed) then 'canceled'
        when ${failed} then 'failed'
        when quarantined > 0 or incomplete or ${outcome.status === 'partial'} then 'partial'
        else 'succeeded' end`,
      finishedAt: sql`now()`,
      errorCode: outcome.error?.code ?? null,
      errorMessage: outcome.error === null ? null : storableText(outcome.error.message),
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('status', 'in', ['queued', 'running'])
    .where(holds)
    .returning((eb) => [...runColumns(eb), cancelRequestedColumn, connectionColumn])
    .executeTakeFirst();
}

async function leaveLane(
  tx: Db,
  scope: OrgScope,
  { laneId, recordedWith, quick }: LeftLane & { readonly laneId: number },
): Promise<void> {
  await tx
    .updateTable('lanes')
    .set({ recordedWith, recordedSince: sql<string>`coalesce(recorded_since, now())`, quick })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', laneId)
    .execute();
}

/** Whether runs of a lane have failed so since its last success, for as long as the row of `connections` allows. */
const lastsLong = (laneId: number, code: string) => sql<boolean>`exists (
  select from runs where lane_id = ${laneId} and status = 'failed' and error_code = ${code}
    and finished_at <= now() - make_interval(mins => connections.error_after_minutes)
    and seq > coalesce((select max(seq) from runs where lane_id = ${laneId} and status in ('succeeded', 'partial')), 0))`;

/**
 * Puts the connection of a run in error; false: it is not active, has been mended since the run signed in, or its refusals may
 * last longer.
 */
async function breakConnection(
  tx: Db,
  scope: OrgScope,
  { id, connectionId, resourceKey, error }: RunRow,
  isTestable: boolean,
): Promise<boolean> {
  if (!error) return false;
  const known = await tx
    .selectFrom('runs')
    .select(['accessNo', 'laneId'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  const accessNo = known?.accessNo ?? null;
  const broken = await tx
    .updateTable('connections')
    .set({ status: 'error', ...errorColumns({ ...error, resourceKey }, isTestable) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', connectionId)
    .where('status', '=', 'active')
    .where((eb) => eb.or([eb('errorAfterMinutes', '=', 0), lastsLong(known?.laneId ?? 0, error.code)]))
    .$if(accessNo !== null, (update) => update.where('accessNo', '=', accessNo))
    .returning('id')
    .executeTakeFirst();
  if (broken) await noteStatusChange(tx, scope, { connectionId });
  return broken !== undefined;
}

async function recordBreak(
  tx: Db,
  scope: OrgScope,
  { run, provider }: { readonly run: RunRow; readonly provider: string | null },
): Promise<number> {
  const { id: deduplicationId, error } = run;
  if (!error) return 0;
  return await recordConnectionEvents(tx, scope, run.connectionId, (connection) => [
    connectionFailed({ connection, error, deduplicationId }),
    ...(provider === null ? [] : [connectionReauthRequired({ connection, provider, error, deduplicationId })]),
  ]);
}
