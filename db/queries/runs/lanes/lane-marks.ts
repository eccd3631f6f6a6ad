import { sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

export interface LaneMark {
  readonly resourceKey: string;
  /** Beginning of the lowest watermark of its partitions; `null` if one of them has none. */
  readonly watermark: string | null;
  readonly partitions: number;
}

export async function findLaneMarks(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKeys }: { readonly connectionId: string; readonly resourceKeys: readonly string[] },
): Promise<readonly LaneMark[]> {
  const { rows } = await sql<LaneMark>`
    select resource_key, left(lane_watermark(id), 200) as watermark,
      (select count(*) from partitions where lane_id = lanes.id) as partitions
    from lanes
    where org_id = ${scope.orgId} and connection_id = ${connectionId}
      and resource_key = any(${[...resourceKeys]}::text[])`.execute(db);
  return rows;
}
