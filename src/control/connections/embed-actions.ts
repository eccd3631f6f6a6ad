/** What a customer does to their connection in a page of the org, by an embed token with the scope for it. */
import { findConnection } from '../../../db/queries/connections/connections.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { AppError, conflict, found } from '../../core/errors.ts';
import type { FreshnessView } from '../../core/resources/freshness.ts';
import type { RunRow } from '../../core/resources/run.ts';
import type { WriteDeps } from '../orgs/write.ts';
import { type RunDeps, requestRun } from '../runs/runs.ts';
import { activateConnection, pauseConnection } from './connections.ts';
import { readFreshness } from './freshness.ts';

/**
 * Syncs every resource that no run of is queued or running. Throws not_found, conflict (not active), rate_limited (no run
 * could be queued).
 */
export async function syncAll(
  deps: RunDeps & WriteDeps,
  scope: OrgScope,
  connectionId: string,
): Promise<Pick<RunRow, 'id' | 'resourceKey' | 'status'>[]> {
  const { connection, freshness } = await readFreshness(deps, scope, connectionId);
  if (connection.status !== 'active') throw conflict(`The connection is ${connection.status}, so nothing is synced.`);
  const runs: Pick<RunRow, 'id' | 'resourceKey' | 'status'>[] = [];
  for (const { resourceKey, lastRunStatus } of freshness.resources) {
    if (lastRunStatus === 'queued' || lastRunStatus === 'running') continue;
    try {
      const wish = { connectionId, resourceKey, trigger: 'manual', backfill: null } as const;
      const { id, status } = await requestRun(deps, scope, wish);
      runs.push({ id, resourceKey, status });
    } catch (error) {
      // The queue is full: those before are queued all the same.
      if (!(error instanceof AppError) || error.code !== 'rate_limited' || runs.length === 0) throw error;
      break;
    }
  }
  return runs;
}

/** Throws not_found, conflict (it does not sync). */
export async function pauseAsCustomer(deps: RunDeps, scope: OrgScope, id: string): Promise<FreshnessView> {
  const { status } = found(await findConnection(deps.db, scope, id), 'Connection');
  if (status !== 'active' && status !== 'paused')
    throw conflict(`The connection is ${status}, so there is nothing to pause.`);
  await pauseConnection(deps, scope, id);
  return await readFreshness(deps, scope, id);
}

/** Ends a pause and nothing else: what is in error needs more. Throws not_found, conflict, plan_limit. */
export async function resumeAsCustomer(deps: RunDeps, scope: OrgScope, id: string): Promise<FreshnessView> {
  const { status } = found(await findConnection(deps.db, scope, id), 'Connection');
  if (status !== 'active' && status !== 'paused') throw conflict(`The connection is ${status}, not paused.`);
  await activateConnection(deps, scope, id);
  return await readFreshness(deps, scope, id);
}
