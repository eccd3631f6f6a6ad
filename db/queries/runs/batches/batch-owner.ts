import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

export interface BatchOwner {
  readonly laneId: number;
  /** Fence of the recording attempt; a newer one makes it fail. */
  readonly fence: number;
}

/**
 * Whether the attempt holds its lane, until the transaction ends. Batches share the lock and takeLane excludes it: either this
 * commits first, or it sees the newer fence.
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
