import { sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

/** How far a resource of a connection has been read. */
export interface LaneMark {
  readonly resourceKey: string;
  /** The beginning of the lowest watermark of its partitions; null: one of them has none. */
  readonly watermark: string | null;
  readonly partitions: number;
}

/** How far these resources of a connection have been read; those that never ran are missing. */
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
