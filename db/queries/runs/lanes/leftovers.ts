import { sql } from 'kysely';
import { textArray } from '../../../../src/core/postgres/binary-arrays.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type BatchOwner, holdsLane } from '../batches/batch-owner.ts';
import { ownLane } from '../records/own-lane.ts';
import { forget, undelivered } from './forget-records.ts';

/**
 * Unknown records get an empty fingerprint, which no version has, so that anything read of them is delivered. A record that was
 * only kept back is at the destination after all. `false` if a newer attempt holds the lane.
 */
export async function noteLeftovers(
  db: Db,
  scope: OrgScope,
  { owner, externalIds }: { readonly owner: BatchOwner; readonly externalIds: readonly string[] },
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    if (!(await holdsLane(tx, scope, owner))) return false;
    await sql`
      insert into record_state (lane_id, external_id, status, hash)
      select ${ownLane(scope, owner.laneId)}, id, 'delivered', '' from unnest(${textArray(externalIds)}::text[]) as left_over (id)
      on conflict (lane_id, external_id) do update set undelivered = null where record_state.undelivered`.execute(tx);
    return true;
  });
}

/** Every record at the destination is known. `false` as above. */
export async function noteCompared(db: Db, scope: OrgScope, { laneId, fence }: BatchOwner): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('lanes')
    .set({ lacksRecords: false })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', laneId)
    .where('fence', '=', fence)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** The destination may have any record after all, also one that was only kept back. `false` as above. */
export async function noteRestored(db: Db, scope: OrgScope, owner: BatchOwner): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    if (!(await holdsLane(tx, scope, owner))) return false;
    await forget(tx, scope, { laneId: owner.laneId, ...undelivered });
    return true;
  });
}
