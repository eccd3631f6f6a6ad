import { sql } from 'kysely';
import type { Forgotten } from '../../../../src/core/run/run-ledger.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type BatchOwner, holdsLane } from '../batches/batch-owner.ts';
import { ownLane } from '../records/own-lane.ts';
import { newGeneration } from './new-generation.ts';
import { clearProgress, rewindStart } from './rewind.ts';

/**
 * Forgets what was delivered of a lane, because its destination has nothing of it: known records, watermark, and where the
 * running run stands. What is learned from then on is another generation. Its counts and its ledger stay. If nothing was
 * forgotten, so do a list of partitions and the report job of a window: a run that has only listed so far, or waits for its
 * first report, would begin with it again and again. The window for which a job is about to be created stays too. Otherwise a
 * rewind begins again with the deletes. One transaction; repeating it is harmless.
 *
 * Null: a newer attempt holds the lane, and nothing was changed.
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
      .returning(['position', sql<boolean>`notes -> 'started_over' is not null`.as('isRekeyed')])
      .executeTakeFirst();
    return { records, position: run?.position ?? null, generation, isRekeyed: run?.isRekeyed ?? false };
  });
}

/** Forgets how far the partitions of a lane are read, and where their first reads began; returns how many there were. */
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

/** Rows in one statement: seconds at most, so that the lane of ten million records does not meet the statement limit. */
const piece = 200_000;

/** From the run on it is known whether all records of its lane are: what was known of them was forgotten. */
export async function noteCleared(
  tx: Db,
  scope: OrgScope,
  { laneId, runId }: { readonly laneId: number; readonly runId: string },
): Promise<void> {
  await sql`
    update lanes set cleared_run = (select seq from runs where org_id = ${scope.orgId} and id = ${runId})
    where org_id = ${scope.orgId} and id = ${laneId}`.execute(tx);
}

/**
 * Forgets every known record of a lane, with where it was, as the run of the lane begins again; returns how many. From that run
 * on it is known whether all of its records are.
 */
export async function deleteRecordStates(
  tx: Db,
  scope: OrgScope,
  { laneId, runId }: { readonly laneId: number; readonly runId: string },
): Promise<number> {
  await noteCleared(tx, scope, { laneId, runId });
  await deleteOfLane(tx, scope, { laneId, table: 'record_partitions' });
  await deleteListed(tx, scope, laneId);
  return await deleteOfLane(tx, scope, { laneId, table: 'record_state' });
}

/** Forgets what lists of deleted records have named. */
export const deleteListed = (tx: Db, scope: OrgScope, laneId: number): Promise<number> =>
  deleteOfLane(tx, scope, { laneId, table: 'listed_deletions' });

async function deleteOfLane(
  tx: Db,
  scope: OrgScope,
  { laneId, table }: { readonly laneId: number; readonly table: string },
): Promise<number> {
  const rows = sql.table(table);
  for (let total = 0; ; ) {
    const { numAffectedRows = 0n } = await sql`
      delete from ${rows} where ctid = any(array(
        select ctid from ${rows} where lane_id = ${ownLane(scope, laneId)} limit ${piece}))`.execute(tx);
    total += Number(numAffectedRows);
    if (numAffectedRows < piece) return total;
  }
}
