import { findEndpointsToWake } from '../../db/queries/runs/maintenance/sweep.ts';
import { observations } from '../core/observations.ts';
import type { Deps } from '../deps.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';

type SweepDeps = Pick<Deps, 'db' | 'orchestrator' | 'log'>;

/** Milliseconds after which a message is still unsent because its endpoint was not woken, or is busy. */
const overdueMs = 15_000;
/** Milliseconds after which a requested delivery is checked: its request stops notifying the endpoint after 1.5 s. */
const requestedMs = 2000;
const limit = 100;

/**
 * Wakes endpoints whose messages were not announced (a process died after its commit, or Temporal was away), or whose
 * attempts lost their worker. Their own workflow decides how to continue.
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
