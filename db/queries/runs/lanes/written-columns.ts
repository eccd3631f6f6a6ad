import { sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type BatchOwner, holdsLane } from '../batches/batch-owner.ts';

/** The columns that batches of a lane have ever filled in a table; null: nothing was noted yet. */
export async function findWrittenColumns(
  db: Db,
  scope: OrgScope,
  { laneId, target }: { readonly laneId: number; readonly target: string },
): Promise<readonly string[] | null> {
  const row = await db
    .selectFrom('writtenColumns')
    .select('names')
    .where('orgId', '=', scope.orgId)
    .where('laneId', '=', laneId)
    .where('target', '=', target)
    .executeTakeFirst();
  return row?.names ?? null;
}

/** Notes more columns, in the order of their names. False: a newer attempt holds the lane, and nothing was noted. */
export async function addWrittenColumns(
  db: Db,
  scope: OrgScope,
  { owner, target, names }: { readonly owner: BatchOwner; readonly target: string; readonly names: readonly string[] },
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    if (!(await holdsLane(tx, scope, owner))) return false;
    await sql`
      insert into written_columns (org_id, lane_id, target, names)
      values (${scope.orgId}, ${owner.laneId}, ${target}, ${[...new Set(names)].sort()}::text[])
      on conflict (lane_id, target) do update set names = array(
        select distinct n collate "C" from unnest(written_columns.names || excluded.names) as n order by 1)`.execute(
      tx,
    );
    return true;
  });
}
