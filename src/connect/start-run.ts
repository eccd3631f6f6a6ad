import { markDispatched } from '../../db/queries/runs/runs.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { RunRow } from '../core/resources/run.ts';
import type { Deps } from '../deps.ts';
import { orLeaveToSweeper } from './or-leave-to-sweeper.ts';

/** Starts the workflow of a queued run that was committed; a failure is logged and left to the sweeper. */
export async function startQueuedRun(
  { db, orchestrator, log }: Pick<Deps, 'db' | 'orchestrator' | 'log'>,
  scope: OrgScope,
  { id: runId, connectionId, resourceKey, trigger }: RunRow,
): Promise<void> {
  await orLeaveToSweeper(log, { runId }, async () => {
    await orchestrator.startRun({ orgId: scope.orgId, connectionId, resourceKey, runId }, trigger);
    await markDispatched(db, scope, runId);
  });
}
