import { findPinnedConnection } from '../../../db/queries/connections/connections.ts';
import { findRecentRuns, findResourceFacts } from '../../../db/queries/connections/freshness.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { found } from '../../core/errors.ts';
import type { FreshnessView } from '../../core/resources/freshness.ts';
import { freshnessOf } from '../../core/schedule/freshness.ts';
import { resourceKeysOf } from '../../core/spec/connection/resource-keys.ts';
import type { Deps } from '../../deps.ts';

const recentRunsMax = 10;

/** As its customer may see it; throws not_found. */
export async function readFreshness(
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  connectionId: string,
): Promise<FreshnessView> {
  const connection = found(await findPinnedConnection(db, scope, connectionId), 'Connection');
  const { id, displayName, status, specJson, specOverridesJson } = connection;
  const resourceKeys = resourceKeysOf(specJson, specOverridesJson);
  const [facts, runs] = await Promise.all([
    findResourceFacts(db, scope, { connectionId, resourceKeys }),
    findRecentRuns(db, scope, { connectionId, limit: recentRunsMax }),
  ]);
  return {
    connection: { id, displayName, status },
    freshness: freshnessOf(facts, Date.now()),
    recentRuns: runs.map((run) => ({
      id: run.id,
      status: run.status,
      resourceKey: run.resourceKey,
      startedAt: run.startedAt,
      stats: run.statsJson,
    })),
  };
}
