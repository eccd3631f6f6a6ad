import { sql } from 'kysely';
import type { Db } from '../client.ts';
import type { OrgScope } from '../scope.ts';
import { type BatchOwner, holdsLane } from './batches.ts';

/**
 * Forgets what was delivered of a lane, because its destination has nothing of it: known records, watermark, and where
 * the running run stands. Its counts and its ledger stay. One transaction; repeating it is harmless.
 *
 * Returns how many records were known; null: a newer attempt holds the lane, and nothing was changed.
 */
export async function forgetLane(
  db: Db,
  scope: OrgScope,
  { runId, ...owner }: BatchOwner & { readonly runId: string },
): Promise<number | null> {
  const { laneId } = owner;
  return db.transaction().execute(async (tx) => {
    if (!(await holdsLane(tx, scope, owner))) return null;
    const forgotten = await deleteRecordStates(tx, scope, laneId);
    await tx.deleteFrom('partitions').where('orgId', '=', scope.orgId).where('laneId', '=', laneId).execute();
    await tx
      .updateTable('runs')
      .set({ position: null, readCompleted: false, watermarkBefore: null, watermarkAfter: null })
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .where('laneId', '=', laneId)
      .where('status', '=', 'running')
      .execute();
    return forgotten;
  });
}

/** Rows in one statement: seconds at most, so that the lane of ten million records does not meet the statement limit. */
const piece = 200_000;

async function deleteRecordStates(tx: Db, scope: OrgScope, laneId: number): Promise<number> {
  for (let total = 0; ; ) {
    const { numAffectedRows = 0n } = await sql`
      delete from record_state where ctid = any(array(
        select ctid from record_state where org_id = ${scope.orgId} and lane_id = ${laneId} limit ${piece}))`.execute(
      tx,
    );
    total += Number(numAffectedRows);
    if (numAffectedRows < piece) return total;
  }
}
