import { lockActiveConnectionsMax, lockConnection } from '../../../db/queries/connections/connections.ts';
import { type DueRetest, endRetests, noteRecovered, testsOfError } from '../../../db/queries/connections/retests.ts';
import { type OrgScope, orgScope } from '../../../db/scope.ts';
import { AppError } from '../../core/errors.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import type { WriteDeps } from '../orgs/write.ts';
import { type RunDeps, requestRun } from '../runs/runs.ts';
import { type ApplyDeps, applySchedulesOf } from '../schedules/apply.ts';
import { activateWithin, recordActivation } from './activation.ts';
import { type ConnectionTestDeps, type TestedConnection, testConnection } from './test-connection.ts';

export type RetestDeps = ConnectionTestDeps & RunDeps & WriteDeps & ApplyDeps;

/**
 * On success, reactivates the connection and syncs the resource that failed. Stops the tests if only a person can tell.
 * Throws plan_limit.
 */
export async function retestConnection(deps: RetestDeps, due: DueRetest): Promise<void> {
  const { orgId, id } = due;
  const scope = orgScope(orgId);
  const { resourceKey, test, needsConsent, proves } = await tested(deps, scope, due);
  if (needsConsent || (test.ok && !proves)) return endRetests(deps.db, scope, due);
  if (!test.ok || !(await recover(deps, scope, due))) return;
  deps.log.info('connection in error is active again', { orgId, connectionId: id });
  void wakeEndpoints(deps, scope);
  await applySchedulesOf(deps, scope, id);
  if (resourceKey !== null)
    await requestRun(deps, scope, { connectionId: id, resourceKey, trigger: 'manual', backfill: null });
}

/** Tests the resource of the error, or another one if the spec no longer has it; `resourceKey` is then `null`. */
async function tested(
  deps: RetestDeps,
  scope: OrgScope,
  { id: connectionId, resourceKey, code }: DueRetest,
): Promise<TestedConnection & Pick<DueRetest, 'resourceKey'>> {
  const only = code === null ? null : code === 'auth_failed' ? 'source' : 'destination';
  try {
    return { resourceKey, ...(await testConnection(deps, scope, { connectionId, resourceKey, only })) };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'validation') throw error;
    return { resourceKey: null, ...(await testConnection(deps, scope, { connectionId, resourceKey: null, only })) };
  }
}

/** False if it was paused, deleted or changed during the test. */
function recover(deps: RetestDeps, scope: OrgScope, { id, accessNo }: DueRetest): Promise<boolean> {
  return deps.db.transaction().execute(async (tx) => {
    await lockActiveConnectionsMax(tx, scope);
    await lockConnection(tx, scope, id);
    const tests = await testsOfError(tx, scope, { id, accessNo });
    if (tests === null) return false;
    const activation = await activateWithin(tx, scope, id);
    await noteRecovered(tx, scope, { id, tests });
    await recordActivation(tx, scope, { ...activation, reason: 'test' });
    return true;
  });
}
