import { sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type BatchOwner, holdsLane } from '../batches/batch-owner.ts';

/** Columns that batches of a lane have ever filled in a table; `null` if nothing was noted yet. */
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

/** `false` if a newer attempt holds the lane. */
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
