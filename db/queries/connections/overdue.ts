import { sql } from 'kysely';
import type { ResourceFacts } from '../../../src/core/schedule/freshness.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { expectedInterval, lastSuccess, overdueNow } from './freshness.ts';

export interface SweptLane {
  readonly id: number;
  readonly orgId: string;
}

/** Lanes whose overdue mark no longer fits. Connections that are not meant to sync stay as they are. */
export async function findOverdueFlips(db: Db, limit: number): Promise<SweptLane[]> {
  const { rows } = await sql<SweptLane>`
    select lanes.id, lanes.org_id
    from lanes
    join connections on connections.org_id = lanes.org_id and connections.id = lanes.connection_id
    left join lateral (${lastSuccess}) success on true
    left join lateral (${expectedInterval(sql.ref('lanes.resource_key'))}) expected on true
    where connections.status in ('active', 'error') and connections.deleted_at is null
      and (expected.seconds is not null or lanes.overdue_since is not null)
      and (lanes.overdue_since is not null) <> ${overdueNow}
    order by lanes.id
    limit ${limit}`.execute(db);
  return rows;
}

export interface OverdueFacts
  extends Pick<ResourceFacts, 'resourceKey' | 'lastSuccessAt' | 'expectedIntervalSeconds' | 'overdueAt'> {
  readonly connectionId: string;
  /** `null` if it was not overdue at the last check. */
  readonly overdueSince: string | null;
  /** The database's clock, which wrote the other times. */
  readonly now: string;
}

export async function findOverdueFacts(db: Db, scope: OrgScope, laneId: number): Promise<OverdueFacts | undefined> {
  const { rows } = await sql<OverdueFacts>`
    select lanes.connection_id, lanes.resource_key, lanes.overdue_since, now() as now,
      success.finished_at as last_success_at, expected.seconds as expected_interval_seconds,
      expected.overdue_at
    from lanes
    join connections on connections.org_id = lanes.org_id and connections.id = lanes.connection_id
    left join lateral (${lastSuccess}) success on true
    left join lateral (${expectedInterval(sql.ref('lanes.resource_key'))}) expected on true
    where lanes.org_id = ${scope.orgId} and lanes.id = ${laneId}`.execute(db);
  return rows[0];
}

/** `false` if the lane was marked so before. */
export async function markOverdue(
  tx: Db,
  scope: OrgScope,
  { laneId, since }: { readonly laneId: number; readonly since: string | null },
): Promise<boolean> {
  const marked = await tx
    .updateTable('lanes')
    .set({ overdueSince: since })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', laneId)
    .where('overdueSince', since === null ? 'is not' : 'is', null)
    .returning('id')
    .executeTakeFirst();
  return marked !== undefined;
}
