/**
 * Background work without a request. It restarts lost runs, keeps Temporal's schedules as their rows say, and wakes endpoints
 * and hooks that were not notified. It reports overdue data and missed firings, tests connections in error, keeps partitions,
 * revokes unconfirmed grants, refreshes unused tokens, ends connect sessions whose time is over, and removes deleted
 * connections and old rows. It runs inside the worker, not as Temporal
 * schedules: the operator's list of workflows stays a list of runs, and the same loop repairs a lost namespace.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { purgeOauthStates } from '../../db/queries/connections/oauth-states.ts';
import { purgeIdempotencyKeys } from '../../db/queries/orgs/idempotency.ts';
import { purgeLookupValues } from '../../db/queries/runs/lookup-cache.ts';
import { purgeSigningSecrets } from '../../db/queries/webhooks/signing-secrets.ts';
import type { RetestDeps } from '../control/connections/retest.ts';
import type { GrantDeps } from '../control/oauth/grant.ts';
import type { Deps } from '../deps.ts';
import { endExpiredSessions } from './connect-sweep.ts';
import { sweepDeliveries } from './delivery-sweep.ts';
import { createGrantSweep } from './grant-sweep.ts';
import { createInboundSweep } from './inbound-sweep.ts';
import { createKeepAliveSweep } from './keep-alive-sweep.ts';
import { createMissedSweep } from './missed-sweep.ts';
import { createOverdueSweep } from './overdue-sweep.ts';
import { createPartitionSweep } from './partition-sweep.ts';
import { purgeDeletedConnections, purgedRowsMax } from './purge-sweep.ts';
import { createRetentionSweep } from './retention-sweep.ts';
import { createRetestSweep } from './retest-sweep.ts';
import { repairSilentRuns, startMissedRuns } from './run-sweep.ts';
import { createScheduleSweep } from './schedule-sweep.ts';

type MaintenanceDeps = Pick<Deps, 'config' | 'orchestrator'> & GrantDeps & RetestDeps;

const roundMs = 1000;

/** One worker at a time does the work; a failed round is logged and repeated. */
export async function maintain(deps: MaintenanceDeps, signal: AbortSignal): Promise<void> {
  const sweepSchedules = createScheduleSweep(deps);
  const sweepInbound = createInboundSweep(deps);
  const sweepOverdue = createOverdueSweep(deps);
  const sweepMissed = createMissedSweep(deps);
  const sweepPartitions = createPartitionSweep(deps, deps.config.retentionDays);
  const sweepGrants = createGrantSweep(deps);
  const retests = createRetestSweep(deps);
  const keepAlives = createKeepAliveSweep(deps);
  const sweepRetention = createRetentionSweep(deps, deps.config.retentionDays);
  while (!signal.aborted) {
    try {
      await asLeader(deps, async () => {
        await startMissedRuns(deps);
        await repairSilentRuns(deps);
        await purgeIdempotencyKeys(deps.db);
        await purgeOauthStates(deps.db);
        await sweepGrants();
        await endExpiredSessions(deps);
        await retests.sweep();
        await keepAlives.sweep();
        await purgeSigningSecrets(deps.db);
        await purgeLookupValues(deps.db, purgedRowsMax);
        await purgeDeletedConnections(deps);
        await sweepPartitions();
        await sweepRetention();
        await sweepSchedules();
        await sweepDeliveries(deps);
        await sweepInbound();
        await sweepOverdue();
        await sweepMissed();
      });
    } catch (error) {
      deps.log.warn('maintenance round failed; the next one tries again', { error });
    }
    await sleep(roundMs, undefined, { signal }).catch(() => undefined);
  }
  await Promise.all([retests.settled(), keepAlives.settled()]);
}

const leaderKey = 7_361_102;

/**
 * An otherwise empty transaction holds the lock, which works through a pooler with one connection per transaction. A frozen
 * leader loses its session after a minute, and with it the lead.
 */
function asLeader({ db }: MaintenanceDeps, work: () => Promise<void>): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await sql`set local idle_in_transaction_session_timeout = '60s'`.execute(tx);
    const lock = await sql<{ held: boolean }>`select pg_try_advisory_xact_lock(${leaderKey}) as held`.execute(tx);
    if (lock.rows[0]?.held) await work();
  });
}
