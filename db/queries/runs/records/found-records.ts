import { sql } from 'kysely';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

/** Resources of connections that are asked for a record, the newest first: each is asked by its index. */
export const askedLanesMax = 2000;

export interface FoundRecord extends LaneKey {
  readonly displayName: string;
  readonly status: 'delivered' | 'quarantined' | 'deleted';
}

/** Records of any connection with this key, the newest connections first. */
export async function findRecordsByKey(
  db: Db,
  scope: OrgScope,
  { externalId, limit }: { readonly externalId: string; readonly limit: number },
): Promise<readonly FoundRecord[]> {
  // With a limit the planner keeps to one look at an index for each lane.
  const { rows } = await sql<FoundRecord>`
    select lane.connection_id, lane.resource_key, connections.display_name,
      case when open.id is not null then 'quarantined' else known.status::text end as status
    from (
      select id, connection_id, resource_key from lanes
      where org_id = ${scope.orgId} order by id desc limit ${askedLanesMax}) lane
    join connections on connections.id = lane.connection_id and connections.org_id = ${scope.orgId}
      and connections.deleted_at is null
    left join lateral (
      select status from record_state where lane_id = lane.id and external_id = ${externalId} limit 1) known on true
    left join lateral (
      select id from quarantine
      where org_id = ${scope.orgId} and connection_id = lane.connection_id and resource_key = lane.resource_key
        and external_id = ${externalId} and resolved_at is null
      limit 1) open on true
    where known.status is not null or open.id is not null
    order by lane.id desc
    limit ${limit}`.execute(db);
  return rows;
}
