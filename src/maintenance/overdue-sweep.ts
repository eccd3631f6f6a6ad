/** Notifies an org when data of a connection become older than its schedules promise, and when they are fresh again. */
import { recordConnectionEvents } from '../../db/queries/connections/connection-events.ts';
import {
  findOverdueFacts,
  findOverdueFlips,
  markOverdue,
  type SweptLane,
} from '../../db/queries/connections/overdue.ts';
import { orgScope } from '../../db/scope.ts';
import { connectionOnTime, connectionOverdue } from '../core/events/freshness-events.ts';
import { ageSecondsOf, isOverdue } from '../core/schedule/freshness.ts';
import type { Deps } from '../deps.ts';
import { wakeEndpoints } from '../dispatch/wake-endpoints.ts';

type OverdueDeps = Pick<Deps, 'db' | 'orchestrator' | 'log'>;

const everyMs = 30_000;
const limit = 100;

/** Continues at once while there is more than one round can take. */
export function createOverdueSweep(deps: OverdueDeps): () => Promise<void> {
  let dueAt = 0;
  return async () => {
    if (Date.now() < dueAt) return;
    const found = await noteOverdueFlips(deps);
    dueAt = found < limit ? Date.now() + everyMs : 0;
  };
}

/** Records each change once; returns how many it found. */
export async function noteOverdueFlips(deps: OverdueDeps): Promise<number> {
  const flips = await findOverdueFlips(deps.db, limit);
  for (const lane of flips) {
    try {
      await noteFlip(deps, lane);
    } catch (error) {
      deps.log.warn('overdue resource not recorded; the next round tries again', { laneId: lane.id, error });
    }
  }
  return flips.length;
}

async function noteFlip(deps: OverdueDeps, { id: laneId, orgId }: SweptLane): Promise<void> {
  const scope = orgScope(orgId);
  const facts = await findOverdueFacts(deps.db, scope, laneId);
  if (!facts) return;
  const { connectionId, resourceKey, lastSuccessAt, expectedIntervalSeconds, overdueSince, now } = facts;
  const overdue = isOverdue(facts, Date.parse(now));
  const told = overdue ? connectionOverdue : connectionOnTime;
  const ageSeconds = ageSecondsOf(lastSuccessAt, Date.parse(now));
  await deps.db.transaction().execute(async (tx) => {
    if (!(await markOverdue(tx, scope, { laneId, since: overdue ? now : null }))) return;
    const deduplicationId = overdue ? now : (overdueSince ?? now);
    await recordConnectionEvents(tx, scope, connectionId, (connection) => [
      told({ connection, resourceKey, lastSuccessAt, expectedIntervalSeconds, ageSeconds, deduplicationId }),
    ]);
  });
  deps.log.info(overdue ? 'connection overdue' : 'connection no longer overdue', { connectionId, resourceKey });
  await wakeEndpoints(deps, scope);
}
