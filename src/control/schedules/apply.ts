/** Makes Temporal's schedules match their rows: in the request that changed a row, or later in the sweeper. */
import { findNotApplied, findScheduleState, markApplied } from '../../../db/queries/schedules.ts';
import type { OrgScope } from '../../../db/scope.ts';
import type { Deps } from '../../deps.ts';
import { orLeaveToSweeper } from '../../dispatch/or-leave-to-sweeper.ts';

export type ApplyDeps = Pick<Deps, 'db' | 'orchestrator' | 'log'>;

/** Schedules of a connection that its own request applies; the sweeper is as quick with many of them. */
const ownMax = 20;

/** Failures are logged and left to the sweeper. */
export async function applyNow(deps: ApplyDeps, scope: OrgScope, ids: readonly string[]): Promise<void> {
  await Promise.all(
    ids.map((scheduleId) =>
      orLeaveToSweeper(deps.log, { orgId: scope.orgId, scheduleId }, () => applySchedule(deps, scope, scheduleId)),
    ),
  );
}

export async function applySchedulesOf(deps: ApplyDeps, scope: OrgScope, connectionId: string): Promise<void> {
  await applyNow(deps, scope, await findNotApplied(deps.db, scope, { connectionId, limit: ownMax }));
}

/** Applies the newest version; the later of two concurrent calls repeats it. */
export async function applySchedule(
  { db, orchestrator }: Pick<ApplyDeps, 'db' | 'orchestrator'>,
  scope: OrgScope,
  id: string,
): Promise<void> {
  for (;;) {
    const state = await findScheduleState(db, scope, id);
    if (!state || state.deletedAt !== null) await orchestrator.dropSchedule(id);
    else await orchestrator.putSchedule({ ...state, orgId: scope.orgId, pausedBecause: pausedBecause(state) });
    if (!state || (await markApplied(db, scope, state))) return;
  }
}

function pausedBecause({
  enabled,
  connectionStatus,
}: {
  readonly enabled: boolean;
  readonly connectionStatus: string;
}): string | null {
  if (!enabled) return 'schedule disabled';
  return connectionStatus === 'active' ? null : `connection ${connectionStatus}`;
}
