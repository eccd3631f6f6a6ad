import { findOverdueResources, purgeHookRequests } from '../../db/queries/hooks/hook-requests.ts';
import { observations } from '../core/observations.ts';
import type { Deps } from '../deps.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';

/** Milliseconds after which a missing run needs help: its workflow was not woken, or no longer exists. */
const overdueMs = 2000;
/** Milliseconds between two checks: a workflow that cannot create its run is not notified in every round. */
const everyMs = 5000;
const limit = 100;

export function createInboundSweep(deps: Pick<Deps, 'db' | 'orchestrator' | 'log'>): () => Promise<void> {
  let lookAt = 0;
  return async () => {
    if (Date.now() < lookAt) return;
    lookAt = Date.now() + everyMs;
    await purgeHookRequests(deps.db);
    await wakeOverdue(deps);
  };
}

/** Throws when Temporal is not reachable. */
export async function wakeOverdue({ db, orchestrator, log }: Pick<Deps, 'db' | 'orchestrator' | 'log'>): Promise<void> {
  for (const { orgId, connectionId, resourceKey } of await findOverdueResources(db, {
    olderThanMs: overdueMs,
    limit,
  })) {
    try {
      await orchestrator.noteInbound({ orgId, connectionId, resourceKey });
      observations.repaired.publish({ kind: 'hook_woken', count: 1 });
      log.info('missed hook requests recovered', { connectionId, resourceKey });
    } catch (error) {
      if (isTemporalAway(error)) throw error;
      log.warn('missed hook requests not recovered; the next round tries again', { connectionId, resourceKey, error });
    }
  }
}
