import { findDueEndpoints } from '../../db/queries/webhooks/events.ts';
import type { OrgScope } from '../../db/scope.ts';
import { sharedQueries } from '../core/work/shared-queries.ts';
import type { Deps } from '../deps.ts';

export type WakeDeps = Pick<Deps, 'db' | 'orchestrator' | 'log'>;

interface Wake {
  readonly deps: WakeDeps;
  readonly scope: OrgScope;
}

/**
 * One at a time per org: callers meanwhile share the next one, so that a flood of changes does not become a flood of signals.
 */
const wake = sharedQueries(
  ([{ deps, scope }]: readonly [Wake, ...Wake[]]) => wakeDue(deps, scope),
  ({ scope }) => scope.orgId,
);

/** Call after a commit that recorded events. Never fails; the sweeper repeats lost wake-ups. */
export const wakeEndpoints = (deps: WakeDeps, scope: OrgScope): Promise<void> => wake({ deps, scope });

async function wakeDue({ db, orchestrator, log }: WakeDeps, scope: OrgScope): Promise<void> {
  try {
    const due = await findDueEndpoints(db, scope);
    await Promise.all(due.map((endpointId) => orchestrator.wakeEndpoint({ orgId: scope.orgId, endpointId })));
  } catch (error) {
    log.warn('webhook endpoints not woken; the sweeper wakes them', { orgId: scope.orgId, error });
  }
}
