import { markDispatched } from '../../db/queries/runs/runs.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { RunRow } from '../core/resources/run.ts';
import type { Deps } from '../deps.ts';

/** Starts the workflow of a queued run that was committed; a failure is logged and left to the sweeper. */
export async function startQueuedRun(
  { db, orchestrator, log }: Pick<Deps, 'db' | 'orchestrator' | 'log'>,
  scope: OrgScope,
  { id: runId, connectionId, resourceKey, trigger }: RunRow,
): Promise<void> {
  try {
    await orchestrator.startRun({ orgId: scope.orgId, connectionId, resourceKey, runId }, trigger);
    await markDispatched(db, scope, runId);
  } catch (error) {
    log.warn('Temporal unreachable; the sweeper will try again', { runId, error });
  }
}
