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

/** `succeeded` becomes `partial` when records were quarantined or something was left out. */
export interface RunOutcome {
  readonly status: 'succeeded' | 'partial' | 'failed' | 'canceled';
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface EndedRun {
  readonly run: RunRow | undefined;
  /** `false` for a repeat, which finds the run ended and changes nothing. */
  readonly ended: boolean;
  readonly eventsFor: number;
  /** Runs that may begin now that it has ended. */
  readonly next: readonly AddressedRun[];
}

/** A lane whose destination has nothing that is not recorded here. */
interface LeftLane {
  readonly recordedWith: string;
  readonly quick: boolean;
}

export interface RunEnd {
  readonly runId: string;
  readonly outcome: RunOutcome;
  /** The attempt that ends it, if one does; it must hold the lane. */
  readonly owner?: BatchOwner | null;
  /** Receipt of its last batch, if not recorded yet: the run has succeeded, and `owner` is set. */
  readonly last?: Receipt | null;
  /** New state of the lane; without it, the lane stays as the attempt found it or has marked it since. */
  readonly left?: LeftLane | null;
  /** `false` if the run has listed no partitions. */
  readonly hasPartitions?: boolean;
  /** When the run fails, an active connection goes to `error`. */
  readonly breaksConnection: boolean;
  /** System at which the customer must authorize a broken connection; absent if that does not fix it. */
  readonly provider?: string | null;
  /** Whether a test of the connection can show a repair; default `true`. */
  readonly isTestable?: boolean;
}

/**
 * Also finds the org's runs whose turn has come, as many as it has places for. A run that was asked to cancel ends as `canceled`,
 * unless its read was complete before. Throws `fenced` when `owner` no longer holds the lane.
 */
export async function endRun(db: Db, scope: OrgScope, end: RunEnd): Promise<EndedRun> {
  const { runId, owner, last, breaksConnection } = end;
  const made = await db.transaction().execute(async (tx) => {
    // Transactions that pause or change a connection lock it before its runs.
    if (breaksConnection) await lockConnectionOf(tx, scope, runId);
    const ended =
      owner && last ? await endWithBatch(tx, scope, { owner, receipt: last }) : await writeEnd(tx, scope, end);
    if (!ended && owner && !(await holdsLane(tx, scope, owner))) throw takenOver();
    if (!ended) {
      const run = await findRun(tx, scope, runId);
      // The attempt began at an older batch than the last: another one continues from there.
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

/** Whether runs of the lane have failed with this code since its last success, for as long as the connection allows. */
const lastsLong = (laneId: number, code: string) => sql<boolean>`exists (
  select from runs where lane_id = ${laneId} and status = 'failed' and error_code = ${code}
    and runs.access_no = connections.access_no
    and finished_at <= now() - make_interval(mins => connections.error_after_minutes)
    and seq > coalesce((select max(seq) from runs where lane_id = ${laneId} and status in ('succeeded', 'partial')), 0))`;

/** `false` if the connection is not active, its access changed since the run signed in, or refusals may last longer. */
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
