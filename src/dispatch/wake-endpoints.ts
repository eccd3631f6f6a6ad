import { findDueEndpoints } from '../../db/queries/webhooks/events.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { Deps } from '../deps.ts';

/** What notifying endpoints needs. */
export type WakeDeps = Pick<Deps, 'db' | 'orchestrator' | 'log'>;

/**
 * After a commit that recorded events: lets the endpoints of the org begin to send them. Never fails; the sweeper finds
 * what is not reached.
 */
export async function wakeEndpoints({ db, orchestrator, log }: WakeDeps, scope: OrgScope): Promise<void> {
  try {
    const due = await findDueEndpoints(db, scope);
    await Promise.all(due.map((endpointId) => orchestrator.wakeEndpoint({ orgId: scope.orgId, endpointId })));
  } catch (error) {
    log.warn('webhook endpoints not woken; the sweeper wakes them', { orgId: scope.orgId, error });
  }
}
