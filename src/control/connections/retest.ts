import { lockActiveConnectionsMax, lockConnection } from '../../../db/queries/connections/connections.ts';
import { type DueRetest, endRetests, noteRecovered } from '../../../db/queries/connections/retests.ts';
import { orgScope } from '../../../db/scope.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import type { WriteDeps } from '../orgs/write.ts';
import { type RunDeps, requestRun } from '../runs/runs.ts';
import { type ApplyDeps, applySchedulesOf } from '../schedules/apply.ts';
import { activateWithin, recordActivation } from './activation.ts';
import { type ConnectionTestDeps, testConnection } from './test-connection.ts';

/** Dependencies of tests of connections in error. */
export type RetestDeps = ConnectionTestDeps & RunDeps & WriteDeps & ApplyDeps;

/**
 * Tests a connection in error. If that succeeds it is active again, and the resource that failed is synced. If only a new
 * authorization helps, it is tested no more. Throws what a test throws, and plan_limit.
 */
export async function retestConnection(
  deps: RetestDeps,
  { orgId, id, resourceKey, accessNo }: DueRetest,
): Promise<void> {
  const scope = orgScope(orgId);
  const { test, needsConsent } = await testConnection(deps, scope, { connectionId: id, resourceKey });
  if (needsConsent) await endRetests(deps.db, scope, { id, accessNo });
  if (!test.ok) return;
  const recovered = await deps.db.transaction().execute(async (tx) => {
    await lockActiveConnectionsMax(tx, scope);
    // Paused or deleted meanwhile.
    if ((await lockConnection(tx, scope, id))?.status !== 'error') return false;
    const activation = await activateWithin(tx, scope, id);
    await noteRecovered(tx, scope, id);
    await recordActivation(tx, scope, { ...activation, reason: 'test' });
    return true;
  });
  if (!recovered) return;
  deps.log.info('connection in error is active again', { orgId, connectionId: id });
  void wakeEndpoints(deps, scope);
  await applySchedulesOf(deps, scope, id);
  if (resourceKey !== null)
    await requestRun(deps, scope, { connectionId: id, resourceKey, trigger: 'manual', backfill: null });
}
