import { type RawBuilder, sql } from 'kysely';
import type { Scan, ScanResult } from '../../../../src/core/model/scan.ts';
import type { GonePage, GoneRecord } from '../../../../src/core/run/run-store.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { ownLane } from './own-lane.ts';

export interface LaneScan extends Scan {
  readonly laneId: number;
  /** `runs.seq` of the run. */
  readonly seq: number;
}

/** Counts the records to delete: missing ones, and flagged ones that the destination has. All of them are due. */
export async function countMissing(db: Db, scope: OrgScope, scan: LaneScan): Promise<ScanResult> {
  const { rows } = await sql<ScanResult>`
    select (count(*) filter (where not r.is_flagged))::float8 as missing,
      (count(*) filter (where r.is_flagged and r.undelivered is not true))::float8 as flagged,
      (count(*) filter (where ${isDue(scan)}))::float8 as due
    from (${goneIn(scope, scan)}) r`.execute(db);
  return rows[0] ?? { missing: 0, flagged: 0, due: 0 };
}

export async function findMissing(
  db: Db,
  scope: OrgScope,
  { after, limit, ...scan }: LaneScan & GonePage,
): Promise<readonly GoneRecord[]> {
  const { rows } = await sql<GoneRecord>`
    select external_id, coalesce(undelivered, false) as is_undelivered from (${goneIn(scope, scan)}) r
    where ${isDue(scan)} and (${after}::text is null or external_id > ${after}) order by external_id limit ${limit}`.execute(
    db,
  );
  return rows;
}

/**
 * Whether record `r` is flagged as deleted. A flag of an earlier run counts unless this one has gaps, in which the record may
 * live again.
 */
export const isFlagged = ({ seq, hasGaps }: Pick<LaneScan, 'seq' | 'hasGaps'>): RawBuilder<boolean> =>
  hasGaps ? sql`r.flagged_run = ${seq}` : sql`r.flagged_run is not null`;

function goneIn(scope: OrgScope, scan: LaneScan): RawBuilder<unknown> {
  const columns = sql`r.external_id, r.undelivered, r.missed, r.missed_run, r.flagged_run is not null as is_flagged`;
  const flagged = sql`select ${columns} from record_state r
    where r.lane_id = ${ownLane(scope, scan.laneId)} and ${isFlagged(scan)} and r.status <> 'deleted'`;
  if (scan.endsOnly) return flagged;
  return sql`${flagged} union all
    select ${columns} from record_state r where ${isMissing(scope, scan)} and r.flagged_run is null`;
}

/** Whether an unseen record was in a partition with a gap, or in no known one. */
export async function hidesMissing(db: Db, scope: OrgScope, scan: LaneScan): Promise<boolean> {
  const gap = sql`select from partitions p where p.lane_id = r.lane_id and p.org_id = ${scope.orgId}
    and p.proof_run = ${scan.seq} and p.proof = 'gap'`;
  const nowhere = sql`(r.partition = '' and not exists (${placesOf(sql`true`)}) and exists (${gap}))`;
  const inGap = sql`exists (${gap} and p.partition <> '' and (p.partition = r.partition
    or exists (${placesOf(sql`m.partition = p.partition`)})))`;
  const place = scan.coversAll
    ? sql`(${inGap} or ${nowhere})`
    : scan.listsAll
      ? sql`not (${isMissing(scope, scan)})`
      : inGap;
  const isHidden = scan.isPartitioned
    ? sql`not exists (${placesOf(sql`m.seen_run = ${scan.seq}`)}) and ${place}`
    : sql`true`;
  const { rows } = await sql`
    select from record_state r
    where r.lane_id = ${ownLane(scope, scan.laneId)} and r.status <> 'deleted'
      and r.seen_run is distinct from ${scan.seq} and ${isHidden}
    limit 1`.execute(db);
  return rows.length > 0;
}

/** Whether records of a lane are known although no partition has a watermark. */
export async function startsOver(db: Db, scope: OrgScope, laneId: number): Promise<boolean> {
  const lane = ownLane(scope, laneId);
  const { rows } = await sql<{ readonly startsOver: boolean }>`
    select exists (select from record_state where lane_id = ${lane} and status <> 'deleted')
      and not exists (select from partitions where lane_id = ${lane} and watermark is not null) as starts_over`.execute(
    db,
  );
  return rows[0]?.startsOver ?? false;
}

export async function countKnown(db: Db, scope: OrgScope, laneId: number): Promise<number> {
  const { known } = await db
    .selectFrom('recordState')
    .select(sql<number>`count(*)::float8`.as('known'))
    .where('laneId', '=', ownLane(scope, laneId))
    .where('status', '!=', 'deleted')
    .executeTakeFirstOrThrow();
  return known;
}

export async function findDeleted(
  db: Db,
  scope: OrgScope,
  { laneId, after, limit }: { readonly laneId: number; readonly after: string | null; readonly limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('recordState')
    .select('externalId')
    .where('laneId', '=', ownLane(scope, laneId))
    .where('status', '=', 'deleted')
    .$if(after !== null, (query) => query.where('externalId', '>', after ?? ''))
    .orderBy('externalId')
    .limit(limit)
    .execute();
  return rows.map(({ externalId }) => externalId);
}

/**
 * Whether record `r` is not known as deleted, was not seen by the run, and every partition that ever showed it was read whole.
 */
export function isMissing(scope: OrgScope, scan: LaneScan): RawBuilder<boolean> {
  const { laneId, seq, isPartitioned, coversAll } = scan;
  const unseen = sql<boolean>`r.lane_id = ${ownLane(scope, laneId)} and r.status <> 'deleted'
    and r.seen_run is distinct from ${seq}`;
  const notWhole = sql`select from partitions p
    where p.lane_id = r.lane_id and p.org_id = ${scope.orgId} and p.proof_run = ${seq} and p.proof <> 'whole'`;
  if (!isPartitioned) return sql`${unseen} and not exists (${notWhole})`;
  const isOpen = coversAll ? sql`p.proof_run = ${seq} and p.proof <> 'whole'` : sql`not ${isWhole(scope, seq)}`;
  const elsewhere = sql`select from record_partitions m
    left join partitions p on p.lane_id = m.lane_id and p.partition = m.partition
    where m.lane_id = r.lane_id and m.external_id = r.external_id and (m.seen_run = ${seq} or ${isOpen})`;
  const before = sql`(r.partition = '' or ${coversAll ? sql`not` : sql``} exists (
    select from partitions p where p.lane_id = r.lane_id and p.partition = r.partition
      and ${coversAll ? isOpen : isWhole(scope, seq)}))`;
  const isKnownSomewhere = sql`r.partition <> '' or exists (${placesOf(sql`true`)})`;
  return coversAll
    ? sql`${unseen} and not exists (${elsewhere}) and ${before} and (${isKnownSomewhere} or not exists (${notWhole}))`
    : sql`${unseen} and r.external_id in (${leftBehind(scope, scan)}) and not exists (${elsewhere}) and ${before}`;
}

const isWhole = ({ orgId }: OrgScope, seq: number): RawBuilder<boolean> =>
  sql`(p.org_id is not distinct from ${orgId} and p.proof_run is not distinct from ${seq}
    and p.proof is not distinct from 'whole')`;

const placesOf = (condition: RawBuilder<unknown>) => sql`
  select from record_partitions m where m.lane_id = r.lane_id and m.external_id = r.external_id and ${condition}`;

/** Ids of records missing from a partition that was read whole: few, where a run reads some partitions only. */
const leftBehind = ({ orgId }: OrgScope, { laneId, seq }: LaneScan) => sql`
  select m.external_id from partitions p
  join record_partitions m on m.lane_id = p.lane_id and m.partition = p.partition
  where p.org_id = ${orgId} and p.lane_id = ${laneId} and p.proof_run = ${seq} and p.proof = 'whole'
    and m.seen_run <> ${seq}
  union all
  select old.external_id from partitions p
  join record_state old on old.lane_id = p.lane_id and old.partition = p.partition and old.partition <> ''
  where p.org_id = ${orgId} and p.lane_id = ${laneId} and p.proof_run = ${seq} and p.proof = 'whole'`;

/** Whether record `r` is flagged, or enough reads in a row have lacked it, this one included. */
const isDue = ({ confirm, seq }: LaneScan): RawBuilder<boolean> =>
  confirm === 1
    ? sql`true`
    : sql`(r.is_flagged or coalesce(r.missed, 0) + case when r.missed_run = ${seq} then 0 else 1 end >= ${confirm})`;
