import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

/** An attempt, by the lane that it holds. */
export interface BatchOwner {
  readonly laneId: number;
  /** The fence of the attempt that records; a newer one makes this one fail. */
  readonly fence: number;
}

/**
 * Whether the attempt holds its lane, until the end of the transaction. The lock is shared with other batches and
 * excluded by takeLane: either this commits first or it sees the newer fence.
 */
export async function holdsLane(tx: Db, scope: OrgScope, { laneId, fence }: BatchOwner): Promise<boolean> {
  const lane = await tx
    .selectFrom('lanes')
    .select('fence')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', laneId)
    .forShare()
    .executeTakeFirst();
  return lane?.fence === fence;
}
