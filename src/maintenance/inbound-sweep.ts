import { findOverdueResources, purgeHookRequests } from '../../db/queries/hooks/hook-requests.ts';
import { observations } from '../core/observations.ts';
import type { Deps } from '../deps.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';

/**
 * The milliseconds after which a run that is not created will not be: no workflow was woken, or it no longer exists.
 */
const overdueMs = 2000;
/** The milliseconds between two checks: a workflow that cannot create its run is not notified in every round. */
const everyMs = 5000;
/** Resources woken in one check. */
const limit = 100;

/** A sweeper with its own interval: wakes the workflows of overdue runs, and removes old requests. */
export function createInboundSweep(deps: Pick<Deps, 'db' | 'orchestrator' | 'log'>): () => Promise<void> {
  let lookAt = 0;
  return async () => {
    if (Date.now() < lookAt) return;
    lookAt = Date.now() + everyMs;
    await purgeHookRequests(deps.db);
    await wakeOverdue(deps);
  };
}

/** Wakes the workflows of resources whose requests wait too long. Throws when Temporal is not reachable. */
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
