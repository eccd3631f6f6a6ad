import { sql } from 'kysely';
import type { PartitionParents } from '../../../../src/core/run/run-store.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

interface ChangeQuestion {
  readonly connectionId: string;
  /** Lane of the partitions. */
  readonly laneId: number;
  readonly partitions: readonly PartitionParents[];
}

/** Keys of the partitions that were not read to their end since each of the given parents changed. */
export async function findChangedPartitions(
  db: Db,
  scope: OrgScope,
  { connectionId, laneId, partitions }: ChangeQuestion,
): Promise<readonly string[]> {
  const parts = partitions.flatMap(({ key, parents }) => parents.map((parent) => ({ key, ...parent })));
  if (parts.length === 0) return [];
  const { rows } = await sql<{ key: string }>`
    select distinct a.key
    from unnest(${parts.map(({ key }) => key)}::text[], ${parts.map(({ resourceKey }) => resourceKey)}::text[],
      ${parts.map(({ externalId }) => externalId)}::text[]) as a (key, resource_key, external_id)
    where not exists (
      select 1 from partitions p
      join lanes l on l.org_id = p.org_id and l.connection_id = ${connectionId} and l.resource_key = a.resource_key
      join record_state r on r.lane_id = l.id and r.external_id = a.external_id
      where p.org_id = ${scope.orgId} and p.lane_id = ${laneId} and p.partition = a.key
        and p.listed_at >= r.changed_at)`.execute(db);
  return rows.map(({ key }) => key);
}
