import { findOverdueResources, purgeHookRequests } from '../../db/queries/hooks/hook-requests.ts';
import type { Deps } from '../deps.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';

/** A run that is not made by then is not being made any more: nobody was woken, or the workflow is gone, ms. */
const overdueMs = 2000;
/** Between two looks: a workflow that cannot make its run is not told so at every round, ms. */
const everyMs = 5000;
/** Resources woken in one look. */
const limit = 100;

/** A sweeper of its own clock: wakes whoever has to make a run that is overdue, and removes requests that are old. */
export function createInboundSweep(deps: Pick<Deps, 'db' | 'orchestrator' | 'log'>): () => Promise<void> {
  let lookAt = 0;
  return async () => {
    if (Date.now() < lookAt) return;
    lookAt = Date.now() + everyMs;
    await purgeHookRequests(deps.db);
    await wakeOverdue(deps);
  };
}

/** Wakes the workflows of resources whose requests wait for too long. Throws when Temporal is away. */
export async function wakeOverdue({ db, orchestrator, log }: Pick<Deps, 'db' | 'orchestrator' | 'log'>): Promise<void> {
  for (const { orgId, connectionId, resourceKey } of await findOverdueResources(db, {
    olderThanMs: overdueMs,
    limit,
  })) {
    try {
      await orchestrator.noteInbound({ orgId, connectionId, resourceKey });
      log.info('missed hook requests recovered', { connectionId, resourceKey });
    } catch (error) {
      if (isTemporalAway(error)) throw error;
      log.warn('missed hook requests not recovered; the next round tries again', { connectionId, resourceKey, error });
    }
  }
}
