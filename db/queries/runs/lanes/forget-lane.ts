import { sql } from 'kysely';
import type { Forgotten } from '../../../../src/core/run/run-ledger.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type BatchOwner, holdsLane } from '../batches/batch-owner.ts';
import { ownLane } from '../records/own-lane.ts';
import { inPieces } from './forget-records.ts';
import { newGeneration } from './new-generation.ts';
import { clearProgress, rewindStart } from './rewind.ts';

/**
 * Forgets what was delivered of a lane: its destination has nothing of it. The run's counts and ledger stay; what is learned from
 * now on is another generation.
 *
 * If nothing was forgotten, these stay: a list of partitions, the report job of a window, and a window about to get its job. A
 * run that has only listed so far, or waits for its first report, would begin with it again and again. Otherwise a rewind begins
 * again with the deletes. One transaction; repeating it is harmless. Returns `null` when a newer attempt holds the lane.
 */
export async function forgetLane(
  db: Db,
  scope: OrgScope,
  { runId, ...owner }: BatchOwner & { readonly runId: string },
): Promise<Forgotten | null> {
  const { laneId } = owner;
  return db.transaction().execute(async (tx) => {
    if (!(await holdsLane(tx, scope, owner))) return null;
    const rewinds = await isRewind(tx, scope, runId);
    const hasRead = !rewinds && (await knowsMore(tx, scope, laneId));
    const records = rewinds ? 0 : await deleteRecordStates(tx, scope, { laneId, runId });
    const partitions = await (rewinds ? clearProgress : deletePartitions)(tx, scope, laneId);
    const hadNothing = !hasRead && partitions === 0;
    const begun = sql<string | null>`case
      when ${hadNothing} and (position ->> 'stage' = 'list' or position -> 'read' -> 'job' is not null
        or position -> 'read' ->> 'pagesRead' = '0')
      then position
      when ${rewinds} then ${JSON.stringify(rewindStart)}::jsonb end`;
    const { generation } = await tx
      .updateTable('lanes')
      .set({ generation: newGeneration })
      .where('orgId', '=', scope.orgId)
      .where('id', '=', laneId)
      .returning('generation')
      .executeTakeFirstOrThrow();
    const run = await tx
      .updateTable('runs')
      .set({ position: begun, readCompleted: false, watermarkBefore: null, watermarkAfter: null })
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .where('laneId', '=', laneId)
      .where('status', '=', 'running')
      .returning('position')
      .executeTakeFirst();
    return { records, position: run?.position ?? null, generation };
  });
}

/** Also forgets where the first reads of the partitions began. */
export async function deletePartitions(tx: Db, scope: OrgScope, laneId: number): Promise<number> {
  const ofLane = tx.deleteFrom('partitions').where('orgId', '=', scope.orgId).where('laneId', '=', laneId);
  return Number((await ofLane.executeTakeFirstOrThrow()).numDeletedRows);
}

/** Whether more is known of a record of the lane than that it was at the destination before. */
async function knowsMore(tx: Db, scope: OrgScope, laneId: number): Promise<boolean> {
  const { rows } = await sql`
    select from record_state where lane_id = ${ownLane(scope, laneId)} and hash <> '' limit 1`.execute(tx);
  return rows.length > 0;
}

async function isRewind(tx: Db, scope: OrgScope, runId: string): Promise<boolean> {
  const run = await tx
    .selectFrom('runs')
    .select('backfill')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .executeTakeFirst();
  return run?.backfill?.rewind === true;
}

/** Earlier knowledge of the lane was forgotten: from this run on it is known whether all of its records are stored. */
export async function noteCleared(
  tx: Db,
  scope: OrgScope,
  { laneId, runId }: { readonly laneId: number; readonly runId: string },
): Promise<void> {
  await sql`
    update lanes set cleared_run = (select seq from runs where org_id = ${scope.orgId} and id = ${runId})
    where org_id = ${scope.orgId} and id = ${laneId}`.execute(tx);
}

export async function deleteRecordStates(
  tx: Db,
  scope: OrgScope,
  { laneId, runId }: { readonly laneId: number; readonly runId: string },
): Promise<number> {
  await noteCleared(tx, scope, { laneId, runId });
  await deletePlaces(tx, scope, laneId);
  await deleteListed(tx, scope, laneId);
  return await deleteOfLane(tx, scope, { laneId, table: 'record_state' });
}

export const deletePlaces = (tx: Db, scope: OrgScope, laneId: number): Promise<number> =>
  deleteOfLane(tx, scope, { laneId, table: 'record_partitions' });

export const deleteListed = (tx: Db, scope: OrgScope, laneId: number): Promise<number> =>
  deleteOfLane(tx, scope, { laneId, table: 'listed_deletions' });

async function deleteOfLane(
  tx: Db,
  scope: OrgScope,
  { laneId, table }: { readonly laneId: number; readonly table: string },
): Promise<number> {
  const rows = sql.table(table);
  return await inPieces(
    tx,
    (limit) => sql`
      delete from ${rows} where ctid = any(array(
        select ctid from ${rows} where lane_id = ${ownLane(scope, laneId)} limit ${limit}))`,
  );
}
