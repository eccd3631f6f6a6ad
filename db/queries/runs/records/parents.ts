import { sql } from 'kysely';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { Parent } from '../../../../src/core/run/run-store.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

/**
 * An instant behind every change that is recorded so far and before every later one: the lock lets batches that are
 * being recorded end first. ISO.
 */
export async function parentsInstant(db: Db, scope: OrgScope, lane: LaneKey): Promise<string> {
  return db.transaction().execute(async (tx) => {
    await ofLane(tx, scope, lane).select('id').forUpdate().execute();
    const { rows } = await sql<{ now: string }>`select clock_timestamp() as now`.execute(tx);
    return rows[0]?.now ?? new Date().toISOString();
  });
}

interface ParentPage extends LaneKey {
  /** External id of the last one that was seen; null: none yet. */
  readonly after: string | null;
  readonly limit: number;
  /** The lane whose partitions the parents are; only those changed since their partition was read. Null: all of them. */
  readonly changedFor: number | null;
}

/** Stored records of a parent resource that are not deleted, by external id. */
export async function findParents(db: Db, scope: OrgScope, page: ParentPage): Promise<Parent[]> {
  const { after, limit, changedFor } = page;
  // A join would not let the primary key give the order: every page would sort all that is left.
  let query = db
    .selectFrom('recordState as r')
    .select(['r.externalId', 'r.fields'])
    .where('r.laneId', '=', ofLane(db, scope, page).select('id'))
    .where('r.status', '!=', 'deleted')
    .where('r.fields', 'is not', null)
    .orderBy('r.externalId')
    .limit(limit);
  if (after !== null) query = query.where('r.externalId', '>', after);
  if (changedFor !== null) {
    query = query.where(
      sql<boolean>`not exists (
        select 1 from partitions p
        where p.lane_id = ${changedFor} and p.partition = r.external_id and p.listed_at >= r.changed_at)`,
    );
  }
  const rows = await query.execute();
  return rows.map(({ externalId, fields }) => ({ externalId, fields: fields ?? {} }));
}

const ofLane = (db: Db, scope: OrgScope, { connectionId, resourceKey }: LaneKey) =>
  db
    .selectFrom('lanes')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('resourceKey', '=', resourceKey);
