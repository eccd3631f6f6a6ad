/** Repairs runs whose start or workflow was lost; their rows hold all that is needed to continue. */

import { countRestart, markAlive, markDispatched } from '../../db/queries/runs/dispatch.ts';
import { endRun, type RunOutcome } from '../../db/queries/runs/lanes/end-run.ts';
import { findSilentRuns, findUndispatchedRuns, type SweptRun } from '../../db/queries/runs/maintenance/sweep.ts';
import { findRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import { idsOf } from '../../workflows/input-ids.ts';
import { observations } from '../core/observations.ts';
import { workOf } from '../core/work-ids.ts';
import type { Deps } from '../deps.ts';
import { runInput } from '../dispatch/run-input.ts';
import { wakeEndpoints } from '../dispatch/wake-endpoints.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';

type SweepDeps = Pick<Deps, 'db' | 'orchestrator' | 'log'>;

/** Milliseconds after which the request no longer dispatches its run (its deadline is 1.5 s). */
const undispatchedMs = 2000;
/**
 * Milliseconds without a sign of life: six heartbeat timeouts of a chunk, and more than any normal pause between two records.
 */
const silentMs = 30_000;
const restartsMax = 3;
const limit = 100;

export async function startMissedRuns(deps: SweepDeps): Promise<void> {
  const missed = await findUndispatchedRuns(deps.db, { olderThanMs: undispatchedMs, limit });
  await forEachRun(deps, missed, async (swept) => {
    const scope = orgScope(swept.orgId);
    const run = await findRun(deps.db, scope, swept.id);
    if (run?.status !== 'queued') return;
    await deps.orchestrator.startRun(inputOf(swept), run.trigger);
    await markDispatched(deps.db, scope, swept.id);
    observations.repaired.publish({ kind: 'run_started', count: 1 });
    deps.log.info('missed run started');
  });
}

/**
 * Lost workflows, for example of a lost namespace, restart under the same id and continue from the ledger. A run lost
 * repeatedly is ended, so that its lane continues. A run whose workflow an operator terminated is canceled.
 */
export async function repairSilentRuns(deps: SweepDeps): Promise<void> {
  const silent = await findSilentRuns(deps.db, { olderThanMs: silentMs, limit });
  await forEachRun(deps, silent, async (run) => {
    const state = await deps.orchestrator.describeRun(inputOf(run));
    if (state === 'terminated') return endOrphan(deps, run, run.cancelRequested ? canceled : terminated);
    if (state !== 'open') return restartOrEnd(deps, run);
    if (run.cancelRequested) await deps.orchestrator.cancelRun(inputOf(run));
    await markAlive(deps.db, orgScope(run.orgId), run.id);
  });
}

/** Isolates failures per run, except when Temporal is away: no run can then be restarted. */
async function forEachRun(
  { log }: SweepDeps,
  runs: readonly SweptRun[],
  repair: (run: SweptRun) => Promise<void>,
): Promise<void> {
  for (const run of runs) {
    await workOf(idsOf(inputOf(run)), async () => {
      try {
        await repair(run);
      } catch (error) {
        if (isTemporalAway(error)) throw error;
        log.warn('run not repaired; the next round tries again', { error });
      }
    });
  }
}

async function restartOrEnd(deps: SweepDeps, swept: SweptRun): Promise<void> {
  const scope = orgScope(swept.orgId);
  const run = swept.cancelRequested ? undefined : await findRun(deps.db, scope, swept.id);
  if (!run || !(await countRestart(deps.db, scope, swept.id, restartsMax)))
    return endOrphan(deps, swept, swept.cancelRequested ? canceled : lost);
  try {
    await deps.orchestrator.restartRun(inputOf(swept), run.trigger);
    observations.repaired.publish({ kind: 'run_restarted', count: 1 });
    deps.log.warn('run without a workflow restarted');
  } catch (error) {
    if (isTemporalAway(error)) throw error;
    deps.log.warn('run without a workflow not restarted', { error });
    await endOrphan(deps, swept, lost);
  }
}

const canceled: RunOutcome = { status: 'canceled', error: null };
const terminated: RunOutcome = {
  status: 'canceled',
  error: {
    code: 'terminated',
    message:
      'An operator terminated the workflow of this run in Temporal. Start the sync again: it continues from the watermark.',
  },
};
const lost: RunOutcome = {
  status: 'failed',
  error: {
    code: 'orchestration_lost',
    message:
      'The workflow of this run was lost repeatedly (its Temporal namespace was wiped, say). Start the sync again: it continues from the watermark.',
  },
};

async function endOrphan(deps: SweepDeps, run: SweptRun, outcome: RunOutcome): Promise<void> {
  const end = { runId: run.id, outcome, breaksConnection: false };
  const { next } = await endRun(deps.db, orgScope(run.orgId), end);
  observations.repaired.publish({ kind: 'run_ended', count: 1 });
  deps.log.warn('run without a workflow ended', { status: outcome.status });
  await wakeEndpoints(deps, orgScope(run.orgId));
  for (const waiting of next) await deps.orchestrator.wakeRun(runInput(orgScope(run.orgId), waiting));
}

const inputOf = (run: SweptRun) => runInput(orgScope(run.orgId), run);
