import type { RunOutcome } from '../db/queries/runs/lanes.ts';
import type { Deps } from '../src/deps.ts';
import type { RunTotals, SyncRunInput } from '../workflows/contract.ts';
import { toFailure } from './failures.ts';
import { beginRun, endRun } from './run-lifecycle.ts';

/** What a run's workflow calls besides its chunks: one transaction each, safe to repeat. */
export function createRunActivities(deps: Pick<Deps, 'db' | 'orchestrator' | 'log'>) {
  return {
    /** Called by old histories, in which chunks did not begin their run themselves. */
    async beginRun(input: SyncRunInput): ReturnType<typeof beginRun> {
      try {
        return await beginRun(deps, input);
      } catch (error) {
        deps.log.error('run not started', { runId: input.runId, error });
        throw toFailure(error);
      }
    },

    /** Ends a run that no chunk has ended: it failed, or was canceled. */
    async endRun(input: SyncRunInput, outcome: RunOutcome): Promise<RunTotals> {
      try {
        return await endRun(deps, input, { outcome, owner: null });
      } catch (error) {
        deps.log.error('run not ended', { runId: input.runId, error });
        throw toFailure(error);
      }
    },
  };
}
