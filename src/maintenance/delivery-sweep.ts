import { findEndpointsToWake } from '../../db/queries/runs/maintenance/sweep.ts';
import { observations } from '../core/observations.ts';
import type { Deps } from '../deps.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';

type SweepDeps = Pick<Deps, 'db' | 'orchestrator' | 'log'>;

/** The age in milliseconds at which an unsent message was not announced to its endpoint, or the endpoint is busy. */
const overdueMs = 15_000;
/**
 * The age in milliseconds at which a requested delivery is checked: its request stops notifying the endpoint after 1.5
 * s.
 */
const requestedMs = 2000;
/** Endpoints woken in one round. */
const limit = 100;

/**
 * Wakes endpoints that have something to send and were not notified, because a process died after its commit or
 * Temporal was not reachable, and those with attempts whose worker died. Their own workflow decides what to do.
 */
export async function sweepDeliveries({ db, orchestrator, log }: SweepDeps): Promise<void> {
  for (const { id: endpointId, orgId } of await findEndpointsToWake(db, { overdueMs, requestedMs, limit })) {
    try {
      await orchestrator.wakeEndpoint({ orgId, endpointId });
      observations.repaired.publish({ kind: 'endpoint_woken', count: 1 });
    } catch (error) {
      if (isTemporalAway(error)) throw error;
      log.warn('endpoint not woken; the next round tries again', { endpointId, error });
    }
  }
}
