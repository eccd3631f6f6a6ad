/**
 * Background work without a request: starting runs whose start or whose workflow was lost, keeping Temporal's schedules
 * as their rows say, waking workflows that were not notified of requests to hooks or of deliveries, reporting overdue
 * data and missed firings, removing what belonged to deleted connections and what is too old.
 * It runs inside the worker, not as Temporal schedules: the operator's list of workflows stays a list of runs, and the
 * same loop repairs a lost namespace.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { purgeOauthStates } from '../../db/queries/connections/oauth-states.ts';
import { findPurgeableConnections, purgeSome } from '../../db/queries/connections/purge.ts';
import { purgeIdempotencyKeys } from '../../db/queries/orgs/idempotency.ts';
import { endRun } from '../../db/queries/runs/lanes.ts';
import { purgeLookupValues } from '../../db/queries/runs/lookup-cache.ts';
import { countRestart, findRun, markAlive, markDispatched } from '../../db/queries/runs/runs.ts';
import { findSilentRuns, findUndispatchedRuns, type SweptRun } from '../../db/queries/runs/sweep.ts';
import { purgeSigningSecrets } from '../../db/queries/webhooks/signing-secrets.ts';
import { orgScope } from '../../db/scope.ts';
import { wakeEndpoints } from '../connect/wake-endpoints.ts';
import type { Deps } from '../deps.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';
import { sweepDeliveries } from './delivery-sweep.ts';
import { createInboundSweep } from './inbound-sweep.ts';
import { createMissedSweep } from './missed-sweep.ts';
import { createOverdueSweep } from './overdue-sweep.ts';
import { createRetentionSweep } from './retention-sweep.ts';
import { createScheduleSweep } from './schedule-sweep.ts';

type MaintenanceDeps = Pick<Deps, 'config' | 'db' | 'orchestrator' | 'log'>;

/** Pause between two rounds, ms. */
const roundMs = 1000;
/** After this time the request no longer dispatches its run (its deadline is 1.5 s), ms. */
const undispatchedMs = 2000;
/** Twice the heartbeat timeout of a chunk, and more than any pause between two of its records that is normal, ms. */
const silentMs = 30_000;
/** How often the workflow of a run may be lost: repeated manual termination means that the run should end. */
const restartsMax = 3;
/** Runs checked in one round. */
const limit = 100;

/** No request that found a connection before it was deleted still makes a run of it (they take milliseconds), ms. */
const deletedMs = 2000;
/** Rows deleted in one statement: a few tens of milliseconds. */
const purgedRowsMax = 10_000;
/** Deleting stops for this round after it, so that what runs wait for comes around again, ms. */
const purgeMsMax = 500;

/** Rounds until `signal` aborts. One worker at a time does the work; a failed round is logged and repeated. */
export async function maintain(deps: MaintenanceDeps, signal: AbortSignal): Promise<void> {
  const sweepSchedules = createScheduleSweep(deps);
  const sweepInbound = createInboundSweep(deps);
  const sweepOverdue = createOverdueSweep(deps);
  const sweepMissed = createMissedSweep(deps);
  const sweepRetention = createRetentionSweep(deps, deps.config.retentionDays);
  while (!signal.aborted) {
    try {
      await asLeader(deps, async () => {
        await startMissedRuns(deps);
        await repairSilentRuns(deps);
        await purgeIdempotencyKeys(deps.db);
        await purgeOauthStates(deps.db);
        await purgeSigningSecrets(deps.db);
        await purgeLookupValues(deps.db, purgedRowsMax);
        await purgeDeletedConnections(deps);
        await sweepRetention();
        await sweepSchedules();
        await sweepDeliveries(deps);
        await sweepInbound();
        await sweepOverdue();
        await sweepMissed();
      });
    } catch (error) {
      deps.log.warn('maintenance round failed; the next one tries again', { error });
    }
    await sleep(roundMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Starts queued runs whose request could not reach Temporal. */
async function startMissedRuns(deps: MaintenanceDeps): Promise<void> {
  const missed = await findUndispatchedRuns(deps.db, { olderThanMs: undispatchedMs, limit });
  await forEachRun(deps, missed, async (swept) => {
    const scope = orgScope(swept.orgId);
    const run = await findRun(deps.db, scope, swept.id);
    if (run?.status !== 'queued') return;
    await deps.orchestrator.startRun(inputOf(swept), run.trigger);
    await markDispatched(deps.db, scope, swept.id);
    deps.log.info('missed run started', { runId: swept.id });
  });
}

/**
 * Restarts runs whose workflow is lost (terminated by hand, namespace wiped): they continue from their ledger under the
 * same id. One that is lost repeatedly is ended, so that its lane continues.
 */
async function repairSilentRuns(deps: MaintenanceDeps): Promise<void> {
  const silent = await findSilentRuns(deps.db, { olderThanMs: silentMs, limit });
  await forEachRun(deps, silent, async (run) => {
    const state = await deps.orchestrator.describeRun(inputOf(run));
    if (state !== 'open') return restartOrEnd(deps, run);
    if (run.cancelRequested) await deps.orchestrator.cancelRun(inputOf(run));
    await markAlive(deps.db, orgScope(run.orgId), run.id);
  });
}

/** Failures are isolated per run; without Temporal, none can be restarted. */
async function forEachRun(
  { log }: MaintenanceDeps,
  runs: readonly SweptRun[],
  repair: (run: SweptRun) => Promise<void>,
): Promise<void> {
  for (const run of runs) {
    try {
      await repair(run);
    } catch (error) {
      if (isTemporalAway(error)) throw error;
      log.warn('run not repaired; the next round tries again', { runId: run.id, error });
    }
  }
}

async function restartOrEnd(deps: MaintenanceDeps, swept: SweptRun): Promise<void> {
  const scope = orgScope(swept.orgId);
  const run = swept.cancelRequested ? undefined : await findRun(deps.db, scope, swept.id);
  if (!run || !(await countRestart(deps.db, scope, swept.id, restartsMax))) return endOrphan(deps, swept);
  try {
    await deps.orchestrator.restartRun(inputOf(swept), run.trigger);
    deps.log.warn('run without a workflow restarted', { runId: swept.id });
  } catch (error) {
    if (isTemporalAway(error)) throw error;
    deps.log.warn('run without a workflow not restarted', { runId: swept.id, error });
    await endOrphan(deps, swept);
  }
}

async function endOrphan(deps: MaintenanceDeps, run: SweptRun): Promise<void> {
  const message =
    'The workflow of this run was lost repeatedly (terminated, or its Temporal namespace was wiped). Start the sync again: it continues from the watermark.';
  const outcome = run.cancelRequested
    ? ({ status: 'canceled', error: null } as const)
    : ({ status: 'failed', error: { code: 'orchestration_lost', message } } as const);
  const end = { runId: run.id, outcome, breaksConnection: false };
  const { next } = await endRun(deps.db, orgScope(run.orgId), end);
  deps.log.warn('run without a workflow ended', { runId: run.id, status: outcome.status });
  await wakeEndpoints(deps, orgScope(run.orgId));
  for (const { id, ...waiting } of next) await deps.orchestrator.wakeRun({ orgId: run.orgId, ...waiting, runId: id });
}

/** Removes, bit by bit, everything of deleted connections whose runs have all ended. */
async function purgeDeletedConnections({ db, log }: MaintenanceDeps): Promise<void> {
  const endMs = performance.now() + purgeMsMax;
  for (const { id: connectionId, orgId } of await findPurgeableConnections(db, { olderThanMs: deletedMs, limit })) {
    try {
      let done = false;
      while (!done && performance.now() < endMs) {
        done = await purgeSome(db, orgScope(orgId), { connectionId, rowsMax: purgedRowsMax });
      }
      if (done) log.info('deleted connection removed', { connectionId });
    } catch (error) {
      log.warn('deleted connection not removed; the next round tries again', { connectionId, error });
    }
  }
}

/** Key of the advisory lock that makes one worker the leader of a round. */
const leaderKey = 7_361_102;

function asLeader({ db }: MaintenanceDeps, work: () => Promise<void>): Promise<void> {
  return db.connection().execute(async (connection) => {
    const lock = await sql<{ held: boolean }>`select pg_try_advisory_lock(${leaderKey}) as held`.execute(connection);
    if (!lock.rows[0]?.held) return;
    try {
      // A leader that froze loses its session, and with it the lead.
      await sql`set idle_session_timeout = '60s'`.execute(connection);
      await work();
    } finally {
      await sql`reset idle_session_timeout`.execute(connection);
      await sql`select pg_advisory_unlock(${leaderKey})`.execute(connection);
    }
  });
}

const inputOf = (run: SweptRun) => ({
  orgId: run.orgId,
  connectionId: run.connectionId,
  resourceKey: run.resourceKey,
  runId: run.id,
});
