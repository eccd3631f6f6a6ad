/** Notifies an org of firings that Temporal has dropped because it was down for longer than their catch-up window. */
import { recordConnectionEvents } from '../../db/queries/connections/connection-events.ts';
import { findSchedulesToAsk, type SweptSchedule } from '../../db/queries/runs/maintenance/sweep.ts';
import { noteMissedFirings } from '../../db/queries/schedules.ts';
import { orgScope } from '../../db/scope.ts';
import type { ApplyDeps } from '../control/schedules/apply.ts';
import { scheduleMissed } from '../core/events/schedule-events.ts';
import { observations } from '../core/observations.ts';
import { wakeEndpoints } from '../dispatch/wake-endpoints.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';
import { someAtOnce } from '../temporal/some-at-once.ts';

const everyMs = 10_000;
/** Each schedule once an hour, 36,000 in all; a round takes well below a second. */
const limit = 100;

export function createMissedSweep(deps: ApplyDeps): () => Promise<void> {
  let dueAt = 0;
  return async () => {
    if (Date.now() < dueAt) return;
    dueAt = Date.now() + everyMs;
    await noteMissed(deps);
  };
}

/** Throws when Temporal is not reachable. */
export async function noteMissed(deps: ApplyDeps): Promise<void> {
  await someAtOnce(await findSchedulesToAsk(deps.db, limit), async (schedule) => {
    try {
      await noteMissedOf(deps, schedule);
    } catch (error) {
      if (isTemporalAway(error)) throw error;
      deps.log.warn('missed firings not recorded; the next round tries again', { scheduleId: schedule.id, error });
    }
  });
}

async function noteMissedOf(deps: ApplyDeps, { id: scheduleId, orgId }: SweptSchedule): Promise<void> {
  const scope = orgScope(orgId);
  const count = await deps.orchestrator.countMissedFirings(scheduleId);
  const missed = await deps.db.transaction().execute(async (tx) => {
    const noted = await noteMissedFirings(tx, scope, { id: scheduleId, count });
    if (!noted || noted.missed === 0) return 0;
    await recordConnectionEvents(tx, scope, noted.schedule.connectionId, (connection) => [
      scheduleMissed({ ...noted, connection }),
    ]);
    return noted.missed;
  });
  if (missed === 0) return;
  observations.repaired.publish({ kind: 'firing_missed', count: missed });
  deps.log.warn('Temporal was unavailable for too long: missed firings of a schedule are dropped', {
    scheduleId,
    missed,
  });
  await wakeEndpoints(deps, scope);
}
