/** Corrects schedules without a request: changes that Temporal has missed, and a periodic comparison. */

import {
  findLiveSchedules,
  findSchedulesToApply,
  type SweptSchedule,
} from '../../db/queries/runs/maintenance/sweep.ts';
import { applyAgain, postponeApplying } from '../../db/queries/schedules.ts';
import { orgScope } from '../../db/scope.ts';
import { type ApplyDeps, applySchedule } from '../control/schedules/apply.ts';
import { observations } from '../core/observations.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';
import { someAtOnce } from '../temporal/some-at-once.ts';

const limit = 100;
/** Schedules without a row that one comparison deletes: a few seconds. */
const orphansMax = 1000;
/** Milliseconds between two comparisons, and until the next attempt when Temporal was not reachable. */
const comparisonMs = 3_600_000;
const comparisonRetryMs = 10_000;

/** The first round compares, so that a namespace lost meanwhile is rebuilt at once. */
export function createScheduleSweep(deps: ApplyDeps): () => Promise<void> {
  let compareAt = 0;
  return async () => {
    if (Date.now() >= compareAt) {
      compareAt = Date.now() + comparisonRetryMs;
      await compareSchedules(deps);
      compareAt = Date.now() + comparisonMs;
    }
    await applyMissedSchedules(deps);
  };
}

/** Throws when Temporal is not reachable: the others would fail too. */
export async function applyMissedSchedules(deps: ApplyDeps): Promise<void> {
  await someAtOnce(await findSchedulesToApply(deps.db, limit), (schedule) => applyMissed(deps, schedule));
}

async function applyMissed(deps: ApplyDeps, { id: scheduleId, orgId }: SweptSchedule): Promise<void> {
  const scope = orgScope(orgId);
  try {
    await applySchedule(deps, scope, scheduleId);
    observations.repaired.publish({ kind: 'schedule_applied', count: 1 });
    deps.log.info('missed schedule applied', { scheduleId });
  } catch (error) {
    if (isTemporalAway(error)) throw error;
    deps.log.warn('schedule not applied; trying again in 30 s', { scheduleId, error });
    await postponeApplying(deps.db, scope, scheduleId);
  }
}

/**
 * Compares in both directions: the sweeper reapplies schedules that are missing there or wrongly paused, and those without a
 * row are deleted.
 */
export async function compareSchedules(deps: ApplyDeps): Promise<void> {
  // In this order: a row is committed before Temporal is notified of it.
  const listed = new Map(
    (await deps.orchestrator.listSchedules()).map(({ scheduleId, paused }) => [scheduleId, paused]),
  );
  const live = await findLiveSchedules(deps.db);
  const wrong = live.filter(({ id, paused }) => listed.get(id) !== paused);
  for (const [orgId, schedules] of Map.groupBy(wrong, (schedule) => schedule.orgId)) {
    await applyAgain(
      deps.db,
      orgScope(orgId),
      schedules.map(({ id }) => id),
    );
  }
  const known = new Set(live.map(({ id }) => id));
  const orphans = [...listed.keys()].filter((id) => !known.has(id)).slice(0, orphansMax);
  await someAtOnce(orphans, (id) => deps.orchestrator.dropSchedule(id));
  observations.repaired.publish({ kind: 'schedule_corrected', count: wrong.length });
  observations.repaired.publish({ kind: 'schedule_dropped', count: orphans.length });
  if (wrong.length > 0 || orphans.length > 0) {
    deps.log.warn('Temporal schedules differed from their rows and were corrected', {
      wrong: wrong.length,
      orphans: orphans.length,
    });
  }
}
