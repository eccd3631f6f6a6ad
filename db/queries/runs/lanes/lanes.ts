import { sql } from 'kysely';
import { takenOver } from '../../../../src/core/errors.ts';
import { connectionFailed, connectionReauthRequired } from '../../../../src/core/events/connection-events.ts';
import { storableText } from '../../../../src/core/json/storable-text.ts';
import type { Receipt } from '../../../../src/core/model/receipt.ts';
import { publishRunEnded } from '../../../../src/core/observations.ts';
import type { RunRow, RunStatus } from '../../../../src/core/resources/run.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type Placeholders, statement } from '../../../statement.ts';
import { recordConnectionEvents } from '../../connections/connection-events.ts';
import { noteStatusChange } from '../../schedules.ts';
import { type BatchOwner, holdsLane } from '../batches/batch-owner.ts';
import type { AddressedRun } from '../firings.ts';
import { runColumns } from '../run-columns.ts';
import { closePartitions } from '../run-dimensions.ts';
import {
  cancelRequestedColumn,
  connectionColumn,
  namesRunStarted,
  recordRunEnd,
  recordRunEnds,
  recordRunStarted,
} from '../run-events.ts';
import { findRun } from '../runs.ts';
import { type EndedRow, endWithBatch } from './end-with-batch.ts';
import { resetLane } from './lane-reset.ts';
import { rewindLane } from './rewind.ts';
import { findNextRuns, noteReady, queued, runsInTurn } from './turns.ts';

/**
 * Lets the run begin if it is its turn: nothing of its lane runs, nobody queued before it, and it is one of those that its
 * org has places for ({@link runsInTurn}). From here on it keeps to the spec and the parameters that the connection has now.
 *
 * @returns `running`: it holds the lane (also when it began earlier: safe to repeat); `waiting`: not its turn;
 * a final status: it was ended meanwhile; null: no such run.
 */
export async function beginRun(
  db: Db,
  scope: OrgScope,
  runId: string,
  { onlyIfQuick = false }: BeginOptions = {},
): Promise<Begun> {
  const tried = await tryToBegin(db, scope, { runId, onlyIfQuick });
  // A run that ended meanwhile did not see that this one was ready, and wakes no run.
  const last = tried.isNewlyReady ? await tryToBegin(db, scope, { runId, onlyIfQuick }) : tried;
  const { isNewlyReady: _, canceled, ...begun } = last;
  if (canceled) publishRunEnded(canceled);
  return begun;
}

interface BeginOptions {
  /** Whether nothing is to happen unless the last run of the lane was quick; `turn` is then null. */
  readonly onlyIfQuick?: boolean;
}

/** Whether a run has begun, or how it ended. */
type Turn = Exclude<RunStatus, 'queued'> | 'waiting';

/** The result of trying to begin. */
export interface Begun {
  /** The turn of the run; null: no such run, or it did not try. */
  readonly turn: Turn | null;
  /** The last run of the lane was quick (`quickMsMax`). */
  readonly isQuick: boolean;
  /** Whether it began now, not earlier: its first attempt is counted. */
  readonly isFirst: boolean;
  /** Endpoints that events are queued for. */
  readonly eventsFor: number;
}

interface BeginResult extends Begun {
  /** Whether it waits, and was not marked as ready until now. */
  readonly isNewlyReady: boolean;
  /** The run, if this ended it: its connection is not active. */
  readonly canceled?: RunRow | undefined;
}

function tryToBegin(
  db: Db,
  scope: OrgScope,
  { runId, onlyIfQuick }: Required<BeginOptions> & { readonly runId: string },
): Promise<BeginResult> {
  return db.transaction().execute(async (tx) => {
    // The locks order competing beginners, that on the org, which comes first, for its limit; the partial unique index is
    // the last line behind them.
    const [found] = await lockToBegin(tx, { orgId: scope.orgId, runId });
    const notBegun = { isQuick: found?.quick ?? false, isFirst: false, isNewlyReady: false, eventsFor: 0 };
    if (onlyIfQuick && !notBegun.isQuick) return { ...notBegun, turn: null };
    if (found && found.status !== 'active' && (await cancelQueued(tx, scope, runId))) {
      const eventsFor = await recordRunEnds(tx, scope, [runId]);
      return { ...notBegun, turn: 'canceled', eventsFor, canceled: await findRun(tx, scope, runId) };
    }
    const [begun] = await beginInTurn(tx, { orgId: scope.orgId, runId });
    if (begun) {
      if (begun.reset !== null) await resetLane(tx, scope, runId);
      if (found?.backfill?.rewind) await rewindLane(tx, scope, { runId, to: found.backfill.from });
      const eventsFor = found?.namesRunStarted ? await recordRunStarted(tx, scope, runId) : 0;
      return { ...notBegun, turn: 'running', isFirst: true, eventsFor };
    }
    const run = await findRun(tx, scope, runId);
    if (!run) return { ...notBegun, turn: null };
    if (run.status !== 'queued') return { ...notBegun, turn: run.status };
    const isReady = await noteReady(tx, scope, runId);
    return { ...notBegun, turn: 'waiting', isNewlyReady: isReady && found?.readyAt === null };
  });
}

interface OfOrg {
  readonly orgId: string;
  readonly runId: string;
}

const lockToBegin = statement((tx, { orgId, runId }: Placeholders<OfOrg>) =>
  tx
    .selectFrom('orgs')
    .innerJoin('runs', 'runs.orgId', 'orgs.id')
    .innerJoin('connections', 'connections.id', 'runs.connectionId')
    .innerJoin('lanes', 'lanes.id', 'runs.laneId')
    .select(['connections.status', 'runs.readyAt', 'runs.backfill', 'lanes.quick'])
    .select(namesRunStarted(sql.ref('orgs.id')).as('namesRunStarted'))
    .where('runs.orgId', '=', orgId)
    .where('runs.id', '=', runId)
    .forNoKeyUpdate(['orgs', 'connections']),
);

/** Begins a run whose turn it is, and says what its lane is to forget: it may have been asked to while the locks were waited for. */
const beginInTurn = statement(
  // The attempt that follows counts from here on.
  (_, { orgId, runId }: Placeholders<OfOrg>) => sql<{ readonly reset: string | null }>`
    update runs set status = 'running', started_at = clock_timestamp(), progressed_at = now(), attempts = 1,
      dispatched_at = coalesce(dispatched_at, now()),
      watermark_before = lane_watermark(lane_id), watermark_after = lane_watermark(lane_id),
      (spec_version, spec_overrides_json, params_json) = (
        select pinned_spec_version, spec_overrides_json, params_json from connections where id = runs.connection_id)
    where org_id = ${orgId} and id = ${runId} and status = 'queued' and cancel_requested_at is null
      and id in (select id from (${runsInTurn(orgId, queued(orgId, sql`id = ${runId}`))}) turn)
    returning (select reset from lanes where lanes.id = runs.lane_id) as reset`,
);

/** A run whose connection was paused or broke while it waited does not begin. False: it no longer waits. */
async function cancelQueued(tx: Db, scope: OrgScope, runId: string): Promise<boolean> {
  const canceled = await tx
    .updateTable('runs')
    .set({ status: 'canceled', finishedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('status', '=', 'queued')
    .returning('id')
    .executeTakeFirst();
  return canceled !== undefined;
}

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
}

/**
 * Writes the final status and names the runs of the org whose turn has come, as many as it has places for. Whoever asked
 * to cancel gets `canceled`, unless the read was complete before. Throws `fenced` when `owner` does not hold the lane any
 * more.
 */
export async function endRun(db: Db, scope: OrgScope, end: RunEnd): Promise<EndedRun> {
  const { runId, owner, last, breaksConnection } = end;
  const made = await db.transaction().execute(async (tx) => {
    const ended =
      owner && last ? await endWithBatch(tx, scope, { owner, receipt: last }) : await writeEnd(tx, scope, end);
    if (!ended && owner && !(await holdsLane(tx, scope, owner))) throw takenOver();
    if (!ended) return { run: await findRun(tx, scope, runId), ended: false, eventsFor: 0 };
    const watermark = end.hasPartitions === false ? undefined : await closePartitions(tx, scope, runId);
    if (owner && end.left) await leaveLane(tx, scope, { laneId: owner.laneId, ...end.left });
    const { cancelRequested, connection: facts, ...row } = ended;
    const run = watermark === undefined ? row : { ...row, watermarkAfter: watermark };
    const broken = breaksConnection && run.status === 'failed' && (await breakConnection(tx, scope, run.connectionId));
    const connection = broken ? { ...facts, status: 'error' as const } : facts;
    const ofRun = await recordRunEnd(tx, scope, { run, connection, cancelRequested });
    const ofBreak = broken ? await recordBreak(tx, scope, { run, provider: end.provider ?? null }) : 0;
    return { run, ended: true, eventsFor: ofRun + ofBreak };
  });
  if (made.ended && made.run) publishRunEnded(made.run);
  // Read after the commit: the end of the run does not wait for this query.
  return { ...made, next: await findNextRuns(db, scope, runId) };
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

/** Puts a connection in error; false: it is not active. */
async function breakConnection(tx: Db, scope: OrgScope, connectionId: string): Promise<boolean> {
  const broken = await tx
    .updateTable('connections')
    .set({ status: 'error', errorSince: sql<string>`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', connectionId)
    .where('status', '=', 'active')
    .returning('id')
    .executeTakeFirst();
  if (broken) await noteStatusChange(tx, scope, connectionId);
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
