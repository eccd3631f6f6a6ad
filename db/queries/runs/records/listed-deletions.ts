import { type RawBuilder, sql } from 'kysely';
import type { ListedDeletions, ListedEnd } from '../../../../src/core/model/receipt.ts';
import type { ListedResult, ListedScan } from '../../../../src/core/model/scan.ts';
import { textArray } from '../../../../src/core/postgres/binary-arrays.ts';
import type { GonePage, GoneRecord, StoredListed } from '../../../../src/core/run/run-store.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { isFlagged } from './missing-records.ts';
import { ownLane } from './own-lane.ts';

/**
 * Leaves out records that are known only in other partitions. `cursor` is `null` for a record that other partitions have too: it
 * says nothing of this one.
 */
export async function findListed(
  db: Db,
  scope: OrgScope,
  asked: { readonly laneId: number; readonly partition: string; readonly externalIds: readonly string[] },
): Promise<readonly StoredListed[]> {
  const { laneId, partition, externalIds } = asked;
  const places = sql`select from record_partitions m where m.lane_id = r.lane_id and m.external_id = r.external_id`;
  const isHere =
    partition === '' ? sql`true` : sql`(not exists (${places}) or exists (${places} and m.partition = ${partition}))`;
  const { rows } = await sql<StoredListed>`
    select r.external_id, coalesce(r.undelivered, false) as is_undelivered, d.state, d.deleted_at,
      case when not exists (${places} and ${partition} <> '' and m.partition <> ${partition}) then r.cursor end as cursor,
      d.listed_run::float8, greatest(r.seen_run, (${seenAt(partition)}))::float8 as seen_run,
      (${listRunOf(scope, partition)})::float8 as list_run
    from record_state r
    left join listed_deletions d
      on d.lane_id = r.lane_id and d.external_id = r.external_id and d.partition = ${partition}
    where r.lane_id = ${ownLane(scope, laneId)} and r.external_id = any(${textArray(externalIds)}::text[])
      and r.status <> 'deleted' and ${isHere}`.execute(db);
  return rows;
}

/** The last run that saw record `r` in the partition of a list, or in any for a list of the whole resource. */
const seenAt = (partition: string | RawBuilder<unknown>) => sql`
  select max(m.seen_run) from record_partitions m
  where m.lane_id = r.lane_id and m.external_id = r.external_id and (${partition} = '' or m.partition = ${partition})`;

/** The last run that read a list whole; a list of the whole resource counts for each partition. */
const listRunOf = ({ orgId }: OrgScope, partition: string) => sql`
  select max(p.list_run) from partitions p
  where p.org_id = ${orgId} and p.lane_id = r.lane_id and (${partition} = '' or p.partition = ${partition})`;

export interface LaneListed extends ListedScan {
  readonly laneId: number;
  /** `runs.seq` of the run. */
  readonly seq: number;
}

/** `due`: records that lists named and no later read showed, or that no partition has any more. `open`: everything unfinished. */
export async function countListed(db: Db, scope: OrgScope, listed: LaneListed): Promise<ListedResult> {
  const { rows } = await sql<ListedResult>`
    select (select count(*) from (${goneIn(scope, listed)}) r)::float8 as due,
      ((select count(*) from listed_deletions where lane_id = ${ownLane(scope, listed.laneId)} and state <> 'done')
        + (select count(*) from record_state where lane_id = ${ownLane(scope, listed.laneId)}
          and ${listed.coversAll} and flagged_run is not null and status <> 'deleted'))::float8 as open`.execute(db);
  return rows[0] ?? { due: 0, open: 0 };
}

/** The due records of {@link countListed}, in the order of their external ids. */
export async function findDue(
  db: Db,
  scope: OrgScope,
  { after, limit, ...listed }: LaneListed & GonePage,
): Promise<readonly GoneRecord[]> {
  const { rows } = await sql<GoneRecord>`
    select r.external_id, coalesce(r.undelivered, false) as is_undelivered from (${goneIn(scope, listed)}) r
    where ${after}::text is null or r.external_id > ${after} order by r.external_id limit ${limit}`.execute(db);
  return rows;
}

const goneIn = (scope: OrgScope, listed: LaneListed): RawBuilder<unknown> => sql`
  select r.external_id, r.undelivered from record_state r
  where r.lane_id = ${ownLane(scope, listed.laneId)} and ${isFlagged(listed)} and r.status <> 'deleted'
    and not exists (${livingPlaces(scope, listed)})
  union
  select r.external_id, r.undelivered from record_state r where ${isGone(scope, listed)}`;

/** Whether record `r` is deleted wherever it may be, but not known as deleted. */
function isGone(scope: OrgScope, listed: LaneListed): RawBuilder<boolean> {
  const { laneId } = listed;
  return sql`r.lane_id = ${ownLane(scope, laneId)} and r.status <> 'deleted'
    and r.external_id in (
      select d.external_id from listed_deletions d where d.lane_id = ${ownLane(scope, laneId)} and d.state = 'due')
    and exists (${dueOf()})
    and (exists (${dueOf(sql`d.partition = ''`)}) or not exists (${livingPlaces(scope, listed)}))`;
}

/** Deletions of record `r` that count: no read since has shown it there. */
const dueOf = (condition: RawBuilder<unknown> = sql`true`) => sql`
  select from listed_deletions d
  where d.lane_id = r.lane_id and d.external_id = r.external_id and d.state = 'due' and ${condition}
    and coalesce(greatest(r.seen_run, (${seenAt(sql`d.partition`)})), 0) <= d.listed_run`;

/** The partitions that have record `r`, as far as is known. */
const livingPlaces = (scope: OrgScope, listed: LaneListed) => sql`
  select from record_partitions m
  where m.lane_id = r.lane_id and m.external_id = r.external_id
    and not exists (${dueOf(sql`d.partition = m.partition`)})
    and ${
      listed.coversAll
        ? sql`exists (select from partitions p
            where p.org_id = ${scope.orgId} and p.lane_id = m.lane_id and p.partition = m.partition
              and p.list_run = ${listed.seq})`
        : sql`true`
    }`;

/**
 * Forgets partitions that the run did not read: they no longer exist. Records that only they had are deleted, so that they begin
 * anew if they come back.
 */
export async function forgetLeft(
  tx: Db,
  scope: OrgScope,
  { laneId, seq, by }: ListedOfBatch & { readonly by: 'listRun' | 'proofRun' },
): Promise<void> {
  await tx
    .deleteFrom('partitions')
    .where('orgId', '=', scope.orgId)
    .where('laneId', '=', laneId)
    .where('partition', '<>', '')
    .where(by, 'is distinct from', seq)
    .execute();
}

interface ListedOfBatch {
  readonly laneId: number;
  readonly seq: number;
}

export async function putListed(
  tx: Db,
  scope: OrgScope,
  { laneId, seq, listed }: ListedOfBatch & { readonly listed: readonly ListedDeletions[] },
): Promise<void> {
  for (const { partition, named, end } of listed) {
    const list = (of: (one: (typeof named)[number]) => string | null) => textArray(named.map(of));
    if (named.length > 0) {
      await sql`
        insert into listed_deletions (lane_id, external_id, partition, state, deleted_at, listed_run)
        select ${ownLane(scope, laneId)}, d.external_id, ${partition}, d.state, d.deleted_at, ${seq}
        from unnest(${list(({ externalId }) => externalId)}::text[], ${list(({ state }) => state)}::text[],
          ${list(({ deletedAt }) => deletedAt)}::text[]) as d (external_id, state, deleted_at)
        on conflict (lane_id, external_id, partition) do update set
          state = excluded.state, deleted_at = excluded.deleted_at, listed_run = excluded.listed_run`.execute(tx);
    }
    if (end === null) continue;
    const ofList = sql`lane_id = ${laneId} and (${partition} = '' or partition = ${partition})`;
    await sql`update partitions set list_run = ${seq} where org_id = ${scope.orgId} and ${ofList}`.execute(tx);
    // The list no longer names them, or names no record that is known.
    await sql`
      delete from listed_deletions
      where lane_id = ${ownLane(scope, laneId)} and partition = ${partition}
        and (state = 'before' or (${end === 'all'} and state <> 'done' and listed_run < ${seq}))`.execute(tx);
  }
}

/**
 * Called after the deletions of a run: a record leaves the partitions whose lists name it and stays in the others. Deletions that
 * no longer count are forgotten; if they are held back, their lists are read whole again. A record that has left a partition and
 * lives in another one is not to be deleted.
 */
export async function endListed(
  tx: Db,
  scope: OrgScope,
  { isHeld, ...listed }: ListedEnd & ListedOfBatch,
): Promise<void> {
  const { laneId } = listed;
  const lane = ownLane(scope, laneId);
  if (isHeld) {
    await sql`
      update partitions set deletions_to = null where org_id = ${scope.orgId} and lane_id = ${laneId}`.execute(tx);
  } else {
    await sql`
      with gone as (
        delete from record_partitions here using record_state r
        where here.lane_id = ${lane} and r.lane_id = here.lane_id and r.external_id = here.external_id
          and r.external_id in (
            select d.external_id from listed_deletions d where d.lane_id = ${lane} and d.state = 'due')
          and exists (${dueOf(sql`d.partition = here.partition`)})
          and exists (${livingPlaces(scope, listed)})
        returning here.external_id, here.partition
      )
      update listed_deletions named set state = 'done' from gone
      where named.lane_id = ${lane} and named.external_id = gone.external_id and named.partition = gone.partition`.execute(
      tx,
    );
    if (listed.coversAll) await forgetLeft(tx, scope, { ...listed, by: 'listRun' });
  }
  if (listed.coversAll) {
    await sql`
      update record_state r set flagged_run = null
      where r.lane_id = ${lane} and r.flagged_run is not null and exists (${livingPlaces(scope, listed)})`.execute(tx);
  }
  await sql`
    delete from listed_deletions named
    where named.lane_id = ${lane} and named.state = 'due' and not exists (
      select from record_state r
      where r.lane_id = named.lane_id and r.external_id = named.external_id and r.status <> 'deleted'
        and exists (${dueOf(sql`d.partition = named.partition`)}))`.execute(tx);
}

export async function closeListed(
  tx: Db,
  scope: OrgScope,
  { laneId, externalIds }: { readonly laneId: number; readonly externalIds: readonly string[] },
): Promise<void> {
  await sql`
    update listed_deletions set state = 'done'
    where lane_id = ${ownLane(scope, laneId)} and external_id = any(${textArray(externalIds)}::text[])
      and state <> 'done'`.execute(tx);
}
