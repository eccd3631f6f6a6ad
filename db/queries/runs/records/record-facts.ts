import { type RawBuilder, sql } from 'kysely';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { groupedMax } from './quarantine.ts';

export interface RecordKey extends LaneKey {
  readonly externalId: string;
}

/** A run by which something of a record is known. */
interface KnownRun {
  readonly id: string;
  readonly createdAt: string;
}

/** What the rows of a lane know of a record; none of its data. */
export interface RecordFacts {
  readonly status: 'delivered' | 'quarantined' | 'deleted';
  /** Nothing of it is at the destination. */
  readonly isUndelivered: boolean;
  /** Read as deleted, and not deleted yet. */
  readonly isFlagged: boolean;
  readonly flaggedBy: KnownRun | null;
  /** Complete reads in a row that lacked it. */
  readonly missed: number;
  /** The cursor of its last version; `null` without one. */
  readonly cursor: string | null;
  /** When its last version was recorded; `null`: its resource does not keep that. */
  readonly changedAt: string | null;
  /** The last complete read that had it; `null`: none did, or nobody asks. */
  readonly seenBy: KnownRun | null;
  /** Partitions that have it, some of them. */
  readonly partitions: readonly string[];
  /** What lists of deleted records have said of it. */
  readonly listed: readonly ListedDeletion[];
}

interface ListedDeletion {
  readonly state: 'before' | 'pending' | 'due' | 'done';
  readonly deletedAt: string | null;
  readonly run: KnownRun | null;
}

const shownMax = 20;

/** `undefined` if the lane knows no such record. */
export async function findRecordFacts(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey, externalId }: RecordKey,
): Promise<RecordFacts | undefined> {
  const run = (seq: RawBuilder<unknown>) => sql`(
    select jsonb_build_object('id', runs.id, 'createdAt', runs.created_at) from runs
    where runs.org_id = ${scope.orgId} and runs.lane_id = known.lane_id and runs.seq = ${seq})`;
  const { rows } = await sql<RecordFacts>`
    select known.status, coalesce(known.undelivered, false) as is_undelivered,
      known.flagged_run is not null and known.status <> 'deleted' as is_flagged, ${run(sql`known.flagged_run`)} as flagged_by,
      coalesce(known.missed, 0)::int as missed, known.cursor, known.changed_at,
      ${run(sql`greatest(known.seen_run, places.seen_run)`)} as seen_by,
      coalesce(places.partitions, '[]') as partitions, coalesce(listed.all_of_it, '[]') as listed
    from lanes
    join record_state known on known.lane_id = lanes.id and known.external_id = ${externalId}
    cross join lateral (
      select max(seen_run) as seen_run, jsonb_agg(partition order by partition) as partitions from (
        select seen_run, partition from record_partitions place
        where place.lane_id = known.lane_id and place.external_id = known.external_id
        order by seen_run desc limit ${shownMax}) shown) places
    cross join lateral (
      select jsonb_agg(jsonb_build_object('state', state, 'deletedAt', deleted_at, 'run', ${run(sql`listed_run`)})) as all_of_it
      from (
        select state, deleted_at, listed_run from listed_deletions named
        where named.lane_id = known.lane_id and named.external_id = known.external_id
        order by listed_run desc limit ${shownMax}) shown) listed
    where lanes.org_id = ${scope.orgId} and lanes.connection_id = ${connectionId}
      and lanes.resource_key = ${resourceKey}`.execute(db);
  return rows[0];
}

export interface QuarantineVisit {
  readonly id: string;
  readonly runId: string;
  readonly createdAt: string;
  readonly resolvedAt: string | null;
  readonly isRequeued: boolean;
  /** Of the first thing that is wrong. */
  readonly message: string;
}

/** Each time that a record was quarantined, the newest first: open ones, and those among the connection's newest {@link groupedMax}. */
export async function findQuarantineVisits(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey, externalId }: RecordKey,
): Promise<readonly QuarantineVisit[]> {
  const ofRecord = sql`quarantine.org_id = ${scope.orgId} and quarantine.connection_id = ${connectionId}
    and quarantine.resource_key = ${resourceKey} and quarantine.external_id = ${externalId}`;
  const columns = sql`id, run_id, created_at, resolved_at, requeued_at is not null as is_requeued,
    left(coalesce(validation_errors #>> '{0,message}', ''), 500) as message`;
  const { rows } = await sql<QuarantineVisit>`
    (select ${columns} from quarantine where ${ofRecord} and (resolved_at is null or requeued_at is not null)
      order by id desc limit ${shownMax})
    union
    (select ${columns} from quarantine where ${ofRecord} and id >= (
        select min(id) from (
          select id from quarantine other
          where other.org_id = ${scope.orgId} and other.connection_id = ${connectionId}
          order by id desc limit ${groupedMax}) newest)
      order by id desc limit ${shownMax})
    order by id desc limit ${shownMax}`.execute(db);
  return rows;
}
