import { sql } from 'kysely';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { Parent } from '../../../../src/core/run/run-store.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

/** An ISO instant behind every change recorded so far and before every later one: the lock waits for batches being recorded. */
export async function parentsInstant(db: Db, scope: OrgScope, lane: LaneKey): Promise<string> {
  return db.transaction().execute(async (tx) => {
    await ofLane(tx, scope, lane).select('id').forUpdate().execute();
    const { rows } = await sql<{ now: string }>`select clock_timestamp() as now`.execute(tx);
    return rows[0]?.now ?? new Date().toISOString();
  });
}

interface ParentPage extends LaneKey {
  readonly after: string | null;
  readonly limit: number;
  /** Lane partitioned by the parents: only parents changed since their partition was read. `null` for all of them. */
  readonly changedFor: number | null;
  /** Whether each run of the parents reads all of them. */
  readonly isReadWhole: boolean;
  /** Required meaning of the stored fields, which are `null` if they mean something else; `null` for any meaning. */
  readonly fields: string | null;
}

/**
 * Stored parents that are not deleted, by external id. A record without a key, of which nothing is stored, counts while it is
 * quarantined. It no longer counts once a later read of all parents has found a key in each. A record that no read has shown
 * since a table had it, or since its fields were forgotten, is left out. {@link isLaneComplete} says whether such reads were
 * whole.
 */
export async function findParents(db: Db, scope: OrgScope, page: ParentPage): Promise<Parent[]> {
  const { after, limit, changedFor } = page;
  const lane = ofLane(db, scope, page);
  const meant = lane.select(sql<string>`coalesce(meaning ->> 'fields', ${page.fields})`.as('meant'));
  // With a join the primary key would not give the order: every page would sort all remaining rows.
  let query = db
    .selectFrom('recordState as r')
    .select([
      'r.externalId',
      sql<Parent['fields']>`case when ${page.fields}::text is null or (${meant}) = ${page.fields} then r.fields end`.as(
        'fields',
      ),
    ])
    .where('r.laneId', '=', lane.select('id'))
    .where('r.status', '!=', 'deleted')
    .where(sql<boolean>`(r.hash <> '' or r.fields is not null)`)
    .where(
      sql<boolean>`(r.fields is not null or r.status <> 'quarantined' or exists (
        select from quarantine q
        where q.org_id = ${scope.orgId} and q.connection_id = ${page.connectionId}
          and q.resource_key = ${page.resourceKey} and q.external_id = r.external_id and q.resolved_at is null
          and not (${page.isReadWhole} and ${allHaveKeysSince(scope, page)})))`,
    )
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
  return rows.map(({ externalId, fields }) => ({ externalId, fields }));
}

const ofLane = (db: Db, scope: OrgScope, { connectionId, resourceKey }: LaneKey) =>
  db
    .selectFrom('lanes')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('resourceKey', '=', resourceKey);

/** Whether the last run that read all parents to their end, not before that of row `q`, has found a key in each. */
const allHaveKeysSince = (scope: OrgScope, { connectionId, resourceKey }: LaneKey) => sql`coalesce((
  select not run.notes ? 'key_missing'
    and run.seq >= coalesce((select kept.seq from runs kept where kept.org_id = ${scope.orgId} and kept.id = q.run_id), 0)
  from runs run join lanes on lanes.id = run.lane_id
  where lanes.org_id = ${scope.orgId} and lanes.connection_id = ${connectionId} and lanes.resource_key = ${resourceKey}
    and run.org_id = ${scope.orgId} and run.status in ('succeeded', 'partial') and run.read_completed
    and not run.incomplete and run.backfill is null
  order by run.seq desc limit 1), false)`;

/**
 * Whether every record of a resource is stored. A run has read it to its end and left nothing out since its records were last
 * forgotten; backfills do not count, except rewinds. Earlier reads still count, as their watermarks do.
 */
export async function isLaneComplete(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey }: LaneKey,
): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .innerJoin('lanes', 'lanes.id', 'runs.laneId')
    .select('runs.id')
    .where('lanes.orgId', '=', scope.orgId)
    .where('lanes.connectionId', '=', connectionId)
    .where('lanes.resourceKey', '=', resourceKey)
    .where('runs.orgId', '=', scope.orgId)
    .where('runs.status', 'in', ['succeeded', 'partial'])
    .where('runs.readCompleted', '=', true)
    .where('runs.incomplete', '=', false)
    .where(sql<boolean>`(runs.backfill is null or runs.backfill ->> 'rewind' = 'true')`)
    .where((eb) => eb.or([eb('lanes.clearedRun', 'is', null), eb('runs.seq', '>=', eb.ref('lanes.clearedRun'))]))
    .orderBy('runs.seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return run !== undefined;
}
