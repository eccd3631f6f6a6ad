import { sql } from 'kysely';
import { storableJson } from '../../../../src/core/json/storable-json.ts';
import type { FlaggedRecord, PlacedRecords, Receipt } from '../../../../src/core/model/receipt.ts';
import { textArray } from '../../../../src/core/postgres/binary-arrays.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { closeListed, endListed, forgetLeft, putListed } from '../records/listed-deletions.ts';
import { isMissing, type LaneScan } from '../records/missing-records.ts';
import { ownLane } from '../records/own-lane.ts';

interface LaneRun {
  readonly laneId: number;
  /** `runs.seq` of the run. */
  readonly seq: number;
}

interface CoverageOfBatch extends LaneRun {
  readonly receipt: Receipt;
}

export async function putCoverage(tx: Db, scope: OrgScope, batch: CoverageOfBatch): Promise<void> {
  const { laneId, receipt, seq } = batch;
  const lane = ownLane(scope, laneId);
  const isAmong = (externalIds: readonly string[]) => sql`external_id = any(${textArray(externalIds)}::text[])`;
  if (receipt.seen.length > 0)
    await sql`
      update record_state set missed = null, missed_run = null
      where lane_id = ${lane} and missed is not null
        and ${isAmong(receipt.seen.flatMap(({ externalIds }) => externalIds))}`.execute(tx);
  for (const { partition, externalIds } of receipt.seen) {
    const ids = isAmong(externalIds);
    await (partition === ''
      ? sql`update record_state set seen_run = ${seq} where lane_id = ${lane} and ${ids}`
      : sql`
        insert into record_partitions (lane_id, external_id, partition, seen_run)
        select lane_id, external_id, ${partition}, ${seq} from record_state where lane_id = ${lane} and ${ids}
        on conflict (lane_id, external_id, partition) do update set seen_run = excluded.seen_run`
    ).execute(tx);
  }
  if (receipt.left) await putLeft(tx, scope, { laneId, seq, left: receipt.left });
  if (receipt.flagged) await putFlagged(tx, scope, { laneId, seq, flagged: receipt.flagged });
  if (receipt.deleted.length > 0) await putDeleted(tx, scope, batch);
  if (receipt.proofs.length > 0) await putProofs(tx, scope, batch);
  if (receipt.listed) await putListed(tx, scope, { laneId, seq, listed: receipt.listed });
  if (receipt.listedEnd) await endListed(tx, scope, { ...receipt.listedEnd, laneId, seq });
  if (receipt.scan) await endScan(tx, scope, { ...receipt.scan, laneId, seq });
}

/** Whether the records live in another place is only known at the end of the run. */
async function putLeft(
  tx: Db,
  scope: OrgScope,
  { laneId, seq, left }: LaneRun & { readonly left: readonly PlacedRecords[] },
): Promise<void> {
  for (const { partition, externalIds } of left) {
    await sql`
      with asked as (select unnest(${textArray(externalIds)}::text[]) as external_id),
      gone as (
        delete from record_partitions
        where lane_id = ${ownLane(scope, laneId)} and partition = ${partition}
          and external_id in (select external_id from asked)
        returning external_id
      )
      update record_state r set flagged_run = ${seq} from asked
      where r.lane_id = ${ownLane(scope, laneId)} and r.external_id = asked.external_id and r.status <> 'deleted'
        and (exists (select from gone where gone.external_id = r.external_id) or not exists (
          select from record_partitions m where m.lane_id = r.lane_id and m.external_id = r.external_id))`.execute(tx);
  }
}

/** Stores an empty fingerprint, so that a record that lives again is delivered whenever it is read. */
async function putFlagged(
  tx: Db,
  scope: OrgScope,
  { laneId, seq, flagged }: LaneRun & { readonly flagged: readonly FlaggedRecord[] },
): Promise<void> {
  const list = (of: (record: FlaggedRecord) => string | null) => textArray(flagged.map(of));
  await sql`
    update record_state r set flagged_run = ${seq}, hash = '', cursor = coalesce(f.cursor, r.cursor)
    from unnest(${list(({ externalId }) => externalId)}::text[], ${list(({ cursor }) => cursor)}::text[])
      as f (external_id, cursor)
    where r.lane_id = ${ownLane(scope, laneId)} and r.external_id = f.external_id and r.status <> 'deleted'`.execute(
    tx,
  );
}

/** A record that the same batch delivered is not stored, but becomes known as deleted all the same. */
async function putDeleted(tx: Db, scope: OrgScope, { laneId, receipt }: CoverageOfBatch): Promise<void> {
  const lane = ownLane(scope, laneId);
  const ids = sql`${textArray(receipt.deleted)}::text[]`;
  await sql`
    insert into record_state (lane_id, external_id, status, hash)
    select ${lane}, gone.id, 'deleted', '' from (select distinct unnest(${ids}) as id) gone
    on conflict (lane_id, external_id) do update set
      status = 'deleted', undelivered = null, flagged_run = null, partition = '', missed = null,
      missed_run = null`.execute(tx);
  await sql`delete from record_partitions where lane_id = ${lane} and external_id = any(${ids})`.execute(tx);
  await closeListed(tx, scope, { laneId, externalIds: receipt.deleted });
}

/** A gap outweighs any other proof of a partition by the same run. */
async function putProofs(tx: Db, scope: OrgScope, { laneId, receipt, seq }: CoverageOfBatch): Promise<void> {
  await sql`
    insert into partitions (org_id, lane_id, partition, proof, proof_run, pending)
    select ${scope.orgId}, ${laneId}, p.partition, p.proof, ${seq}, nullif(p.completed, 'null')
    from jsonb_to_recordset(${storableJson(receipt.proofs)}::jsonb) as p (partition text, proof text, completed jsonb)
    on conflict (lane_id, partition) do update set
      proof = case when partitions.proof_run = excluded.proof_run and partitions.proof = 'gap' then 'gap'
        else excluded.proof end,
      proof_run = excluded.proof_run, pending = excluded.pending`.execute(tx);
}

/**
 * Called after the deletions of a comparison: records leave the partitions that lack them. Those partitions count as read to
 * their end, unless a record waits for more reads or its deletion was refused.
 */
async function endScan(tx: Db, scope: OrgScope, scan: LaneScan): Promise<void> {
  if (!scan.isPartitioned && !scan.endsOnly && (await hasGap(tx, scope, scan))) return;
  if (!scan.endsOnly) {
    await countMissed(tx, scope, scan);
    if (scan.coversAll) await forgetLeft(tx, scope, { ...scan, by: 'proofRun' });
  }
  if (scan.isPartitioned) await leavePartitions(tx, scope, scan);
  await endPartitions(tx, scope, scan);
}

async function hasGap(tx: Db, { orgId }: OrgScope, { laneId, seq }: LaneScan): Promise<boolean> {
  const { rows } = await sql`
    select from partitions where org_id = ${orgId} and lane_id = ${laneId} and proof_run = ${seq} and proof <> 'whole'
    limit 1`.execute(tx);
  return rows.length > 0;
}

async function leavePartitions(tx: Db, scope: OrgScope, { laneId, seq, coversAll }: LaneScan): Promise<void> {
  const proved = sql`select partition from partitions
    where org_id = ${scope.orgId} and lane_id = ${laneId} and proof_run = ${seq}`;
  const lacks = (partition: string) =>
    coversAll
      ? sql`${sql.ref(partition)} not in (${proved} and proof <> 'whole')`
      : sql`${sql.ref(partition)} in (${proved} and proof = 'whole')`;
  const waits = sql`exists (select from record_state r
    where r.lane_id = m.lane_id and r.external_id = m.external_id and r.missed_run = ${seq})`;
  await sql`
    delete from record_partitions m
    where m.lane_id = ${ownLane(scope, laneId)} and m.seen_run <> ${seq} and ${lacks('m.partition')} and not ${waits}`.execute(
    tx,
  );
  await sql`
    update record_state set partition = ''
    where lane_id = ${ownLane(scope, laneId)} and partition <> '' and ${lacks('partition')}
      and seen_run is distinct from ${seq} and missed_run is distinct from ${seq}`.execute(tx);
}

async function endPartitions(tx: Db, scope: OrgScope, { laneId, seq }: LaneScan): Promise<void> {
  await sql`
    update partitions p set pending = null, updated_at = now(),
      watermark = coalesce(pending ->> 'watermark', watermark),
      read_at = coalesce((pending ->> 'readAt')::timestamptz, read_at),
      listed_at = coalesce((pending ->> 'listedAt')::timestamptz, listed_at),
      validators = nullif(pending -> 'validators', 'null')
    where p.org_id = ${scope.orgId} and p.lane_id = ${laneId} and proof_run = ${seq} and proof = 'whole'
      and pending is not null and not exists (
        select from record_state r
        where r.lane_id = p.lane_id and r.missed is not null and r.missed_run = ${seq} and (
          r.partition = p.partition or exists (
            select from record_partitions m
            where m.lane_id = p.lane_id and m.external_id = r.external_id and m.partition = p.partition)))`.execute(tx);
}

/** Counts another read that lacked a record. */
async function countMissed(tx: Db, scope: OrgScope, scan: LaneScan): Promise<void> {
  await sql`
    update record_state r set missed = coalesce(r.missed, 0) + 1, missed_run = ${scan.seq}
    where ${isMissing(scope, scan)} and r.missed_run is distinct from ${scan.seq}`.execute(tx);
}
