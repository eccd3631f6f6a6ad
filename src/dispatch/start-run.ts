import { leaveToSweeper } from '../../db/queries/runs/dispatch.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { Firing } from '../../workflows/contract.ts';
import { idsOf } from '../../workflows/input-ids.ts';
import type { RunRow } from '../core/resources/run.ts';
import { workOf } from '../core/work-ids.ts';
import type { Deps } from '../deps.ts';
import { orLeaveToSweeper } from './or-leave-to-sweeper.ts';
import { noFiring, runInput } from './run-input.ts';

/** Pass `firing` if a schedule created the run; a failure is logged and left to the sweeper. */
export async function startQueuedRun(
  { db, orchestrator, log }: Pick<Deps, 'db' | 'orchestrator' | 'log'>,
  scope: OrgScope,
  run: Pick<RunRow, 'id' | 'connectionId' | 'resourceKey' | 'trigger'>,
  firing?: Firing,
): Promise<void> {
  const input = runInput(scope, { ...run, ...(firing ?? noFiring) });
  await workOf(idsOf(input), async () => {
    if (await orLeaveToSweeper(log, {}, () => orchestrator.startRun(input, run.trigger))) return;
    await leaveToSweeper(db, scope, run.id).catch((error: unknown) =>
      log.warn('run not left to the sweeper; it is found when it is silent', { error }),
    );
  });
}
