import { sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { passOverEndedRuns } from '../batches/batches.ts';
import { delivered, forget } from './forget-records.ts';

/** Runs of a lane that may have delivered something after a time. */
export interface RunsSince {
  readonly count: number;
  /**
   * The lowest watermark that one of them began with, or that of the first where only the API knows their order. `null` if one
   * began without a watermark, or there is no such run.
   */
  readonly watermark: string | null;
  /** Whether one delivered records from before its watermark: by a backfill, or see `runs.reads_before`. */
  readonly readsBefore: boolean;
}

/** Work in a lane after the ISO time `since`; the run in progress then counts. */
export async function findRunsSince(
  db: Db,
  scope: OrgScope,
  lane: {
    readonly connectionId: string;
    readonly resourceKey: string;
    readonly since: string;
    /** Whether only the API knows the order of its watermarks: tokens, and cursors of type string. */
    readonly isOpaque: boolean;
  },
): Promise<RunsSince> {
  const { connectionId, resourceKey, since, isOpaque } = lane;
  const { rows } = await sql<RunsSince>`
    with lane as (
      select id from lanes
      where org_id = ${scope.orgId} and connection_id = ${connectionId} and resource_key = ${resourceKey}
    ), ended_before as (
      select seq from runs
      where org_id = ${scope.orgId} and lane_id = (select id from lane) and started_at is not null and finished_at <= ${since}
      order by seq desc limit 1
    ), after as (
      select seq, watermark_before, backfill, reads_before from runs
      where org_id = ${scope.orgId} and lane_id = (select id from lane) and started_at is not null
        and seq > coalesce((select seq from ended_before), 0)
    )
    select count(*)::int as count,
      case
        when count(*) > count(watermark_before) then null
        when ${isOpaque} then (array_agg(watermark_before order by seq))[1]
        when bool_and(watermark_before ~ '^-?[0-9]+$')
          then min(case when watermark_before ~ '^-?[0-9]+$' then watermark_before::numeric end)::text
        else min(watermark_before collate "C")
      end as watermark,
      coalesce(bool_or(backfill is not null or reads_before is not false), false) as reads_before
    from after`.execute(db);
  const [found] = rows;
  if (!found) throw new Error('An aggregate has one row.');
  return found;
}

export const rewindStart = { stage: 'bury', after: null } as const;

/**
 * Sets the watermarks of a lane back to `to` at most, in the transaction in which the requested run begins. No record counts as
 * delivered, nor as never delivered; deleted and quarantined records stay known as such. If an earlier run meanwhile was a rewind
 * or began with nothing, the lane is read from its beginning: the watermark may be below `to` now.
 */
export async function rewindLane(
  tx: Db,
  scope: OrgScope,
  { runId, to }: { readonly runId: string; readonly to: string | null },
): Promise<void> {
  const lane = await tx
    .updateTable('lanes')
    .from('runs')
    .set({ recordedWith: null, recordedSince: null })
    .whereRef('lanes.id', '=', 'runs.laneId')
    .where('lanes.orgId', '=', scope.orgId)
    .where('runs.orgId', '=', scope.orgId)
    .where('runs.id', '=', runId)
    .returning('lanes.id')
    .executeTakeFirstOrThrow();
  if (to === null || (await wasSetBackMeanwhile(tx, scope, { runId, laneId: lane.id }))) {
    await clearProgress(tx, scope, lane.id);
  } else {
    await setBack(tx, scope, { laneId: lane.id, to });
  }
  await forget(tx, scope, { laneId: lane.id, ...delivered });
  await passOverEndedRuns(tx, scope, { laneId: lane.id, runId });
  const watermark = sql<string | null>`lane_watermark(lane_id)`;
  await tx
    .updateTable('runs')
    .set({ watermarkBefore: watermark, watermarkAfter: watermark, position: JSON.stringify(rewindStart) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .execute();
}

/** Whether an earlier run that ended after this one was requested read from further back than the watermark. */
async function wasSetBackMeanwhile(
  tx: Db,
  scope: OrgScope,
  { runId, laneId }: { readonly runId: string; readonly laneId: number },
): Promise<boolean> {
  const { rows } = await sql`
    select from runs own join runs before on before.lane_id = own.lane_id and before.id <> own.id
    where own.org_id = ${scope.orgId} and own.id = ${runId} and own.lane_id = ${laneId}
      and before.started_at is not null and before.finished_at >= own.created_at
      and (before.watermark_before is null or before.backfill ->> 'rewind' = 'true')
    limit 1`.execute(tx);
  return rows.length > 0;
}

/** Keeps where the first reads of partitions began: records delivered since then must be read again. */
export async function clearProgress(tx: Db, scope: OrgScope, laneId: number): Promise<number> {
  const ofLane = sql`org_id = ${scope.orgId} and lane_id = ${laneId}`;
  const { numAffectedRows: deleted = 0n } = await sql`
    delete from partitions where ${ofLane} and first_start is null`.execute(tx);
  const { numAffectedRows: cleared = 0n } = await sql`
    update partitions set watermark = null, validators = null, listed_at = null, read_at = null, deletions_to = null,
      updated_at = now()
    where ${ofLane} and num_nonnulls(watermark, validators, listed_at, read_at, deletions_to) > 0`.execute(tx);
  return Number(deleted + cleared);
}

/**
 * A partition that was read less far stays there, with integers compared as numbers. The watermark of a lane without partitions
 * is set without a comparison.
 */
async function setBack(
  tx: Db,
  scope: OrgScope,
  { laneId, to }: { readonly laneId: number; readonly to: string },
): Promise<void> {
  const lowerText = sql`least(watermark collate "C", ${to}::text collate "C")`;
  const lower = /^-?[0-9]+$/.test(to)
    ? sql`case when watermark !~ '^-?[0-9]+$' then ${lowerText}
        when (watermark::numeric, watermark collate "C") <= (${to}::numeric, ${to}::text collate "C") then watermark
        else ${to}::text end`
    : lowerText;
  await sql`
    update partitions set validators = null, listed_at = null, read_at = null, deletions_to = null, updated_at = now(),
      watermark = case
      when partition = '' then ${to}::text
      when watermark is not null then ${lower} end
    where org_id = ${scope.orgId} and lane_id = ${laneId}`.execute(tx);
}
