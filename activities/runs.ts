import type { RunOutcome } from '../db/queries/runs/lanes/lanes.ts';
import type { Deps } from '../src/deps.ts';
import type { RunTotals, SyncRunInput } from '../workflows/contract.ts';
import { withFailures } from './failures.ts';
import { endRun } from './run-lifecycle.ts';

/** What a run's workflow calls besides its chunks. */
export function createRunActivities(deps: Pick<Deps, 'db' | 'orchestrator' | 'log'>) {
  return {
    /**
     * Ends a run that no chunk has ended: it failed, or was canceled. Safe to run twice: a repeat finds the run ended and
     * only wakes the next (test/integration/lanes.test.ts).
     */
    async endRun(input: SyncRunInput, outcome: RunOutcome): Promise<RunTotals> {
      const report = { write: deps.log.error, message: 'run not ended', fields: { runId: input.runId } };
      return await withFailures(report, () => endRun(deps, input, { outcome }));
    },
  };
}
