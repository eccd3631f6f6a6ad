import { findEndpointsToWake } from '../../db/queries/runs/sweep.ts';
import type { Deps } from '../deps.ts';
import { isTemporalAway } from '../temporal/orchestrator.ts';

type SweepDeps = Pick<Deps, 'db' | 'orchestrator' | 'log'>;

/** A message that was not sent by then was not made known to its endpoint, or the endpoint is busy anyway, ms. */
const overdueMs = 15_000;
/** A delivery that somebody asked for is looked after sooner: its request gives up telling the endpoint after 1.5 s, ms. */
const askedMs = 2000;
/** Endpoints woken in one round. */
const limit = 100;

/**
 * Wakes endpoints that have something to send and were not told, because a process died after its commit or Temporal was
 * away, and those with attempts whose worker died. What is to be done is decided by their own workflow.
 */
export async function sweepDeliveries({ db, orchestrator, log }: SweepDeps): Promise<void> {
  for (const { id: endpointId, orgId } of await findEndpointsToWake(db, { overdueMs, askedMs, limit })) {
    try {
      await orchestrator.wakeEndpoint({ orgId, endpointId });
    } catch (error) {
      if (isTemporalAway(error)) throw error;
      log.warn('endpoint not woken; the next round tries again', { endpointId, error });
    }
  }
}
