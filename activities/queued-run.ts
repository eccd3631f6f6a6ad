import { markDispatched } from '../db/queries/runs.ts';
import type { OrgScope } from '../db/scope.ts';
import { AppError } from '../src/core/errors.ts';
import type { RunRow } from '../src/core/rows.ts';
import { type RunTerms, runTerms } from '../src/core/spec/run-terms.ts';
import type { Deps } from '../src/deps.ts';

/** What a run is queued with, or in words why there can be none. */
export function termsOrFault(question: Parameters<typeof runTerms>[0]): RunTerms | string {
  try {
    return runTerms(question);
  } catch (error) {
    if (error instanceof AppError) return error.issues?.[0]?.message ?? error.message;
    throw error;
  }
}

/** Starts the workflow of a run that was committed; what fails is left to the sweeper. */
export async function startQueuedRun(
  { db, orchestrator, log }: Pick<Deps, 'db' | 'orchestrator' | 'log'>,
  scope: OrgScope,
  { id: runId, connectionId, resourceKey, trigger }: RunRow,
): Promise<void> {
  try {
    await orchestrator.startRun({ orgId: scope.orgId, connectionId, resourceKey, runId }, trigger);
    await markDispatched(db, scope, runId);
  } catch (error) {
    log.warn('Temporal not reached; the sweeper will try again', { runId, error });
  }
}
