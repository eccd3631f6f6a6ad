/**
 * Turns among the queued runs of an org. Only ready runs are looked at: the first of each idle lane, once it has tried to begin.
 */

import { type RawBuilder, sql } from 'kysely';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import { orgLimits } from '../../../../src/core/resources/org-limits.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type Placeholders, statement } from '../../../statement.ts';
import type { AddressedRun } from '../firings.ts';

/**
 * Bounds a look at ready runs, in the order of their turns, to 30 ms where none of them may begin (measured). A run behind them
 * still begins when it tries to, but is not woken.
 */
const lookedAtMax = 1000;
/**
 * Seconds after which a ready run counts as silent: it tries to begin every 30 s. After three missed tries it has no workflow,
 * and no run waits for it.
 */
const silentSecondsMax = 90;

/**
 * Runs of an org that may begin, in the order of their turns, as many as the org has places for. Manual runs come first, then
 * those of schedules and hooks, then backfills, each in the order of arrival. A run is left out while its connection is not
 * active and while it waits for a run of another resource. It is also left out while its connection has as many runs in progress
 * or ahead of it as its API allows requests at once.
 *
 * No part of it can become a join of all that waits: a queue grows faster than the database learns of its size.
 *
 * @param asking the run that takes part even if it is not known to be ready: {@link queued}, or {@link toInsert}.
 */
export const runsInTurn = (
  orgId: RawBuilder<string>,
  asking: RawBuilder<unknown>,
): RawBuilder<AddressedRun> => sql<AddressedRun>`
  with in_progress as materialized (
    select connection_id, resource_key, lane_id from runs where org_id = ${orgId} and status = 'running'),
  ready as (
    (select ${readyColumns} from runs
      where org_id = ${orgId} and status = 'queued' and ready_at is not null
        and ready_at > now() - make_interval(secs => ${silentSecondsMax})
      order by trigger_class, seq limit ${lookedAtMax})
    union
    ${asking}),
  free as (
    select ready.*, row_number() over (partition by ready.connection_id order by trigger_class, seq) as place
    from ready join connections on connections.id = ready.connection_id
    where connections.org_id = ${orgId} and connections.status = 'active' and cancel_requested_at is null
      and not exists (select 1 from in_progress where in_progress.lane_id = ready.lane_id)
      and ready.seq = coalesce((
        select first.seq from runs first where first.lane_id = ready.lane_id and first.status = 'queued' order by first.seq limit 1),
        ready.seq)
      and case when ready.waits_for = '{}' then true else not exists (
        select 1 from in_progress
        where in_progress.connection_id = ready.connection_id and in_progress.resource_key = any(ready.waits_for)
        union all
        select 1 from lanes join runs before on before.lane_id = lanes.id
        where lanes.org_id = ${orgId} and lanes.connection_id = ready.connection_id
          and lanes.resource_key = any(ready.waits_for) and before.status = 'queued' and before.seq < ready.seq) end)
  select id, connection_id, resource_key, schedule_id, scheduled_for from free
  where place + (select count(*) from in_progress where in_progress.connection_id = free.connection_id) <= concurrent_max
  order by trigger_class, seq
  limit (
    select greatest(0, coalesce((limits ->> 'runsAtOnce')::int, ${orgLimits.runsAtOnce.default}) - (select count(*) from in_progress))
    from orgs where id = ${orgId})`;

const readyColumns = sql.raw(
  'id, connection_id, resource_key, schedule_id, scheduled_for, lane_id, seq, trigger_class, waits_for, concurrent_max, cancel_requested_at',
);

export const queued = (orgId: RawBuilder<string>, isAsking: RawBuilder<boolean>): RawBuilder<unknown> =>
  sql`select ${readyColumns} from runs where org_id = ${orgId} and status = 'queued' and ${isAsking}`;

export interface RunToInsert extends LaneKey {
  readonly id: string;
  readonly orgId: string;
  readonly laneId: number;
  readonly concurrentMax: number;
  readonly waitsFor: readonly string[];
  readonly scheduleId: string;
  readonly scheduledFor: string;
}

/** Counts as the last to arrive. */
export const toInsert = (v: Placeholders<RunToInsert>): RawBuilder<unknown> => sql`
  select ${v.id}::text, ${v.connectionId}::text, ${v.resourceKey}::text, ${v.scheduleId}::text, ${v.scheduledFor}::timestamptz,
    ${v.laneId}::bigint, 9223372036854775807, 2::smallint, ${v.waitsFor}::text[], ${v.concurrentMax}::int, null::timestamptz`;

/** Marks a run as ready if its lane is free: a run of the org that ends then finds it, and runs with later turns wait for it. */
export async function noteReady(tx: Db, scope: OrgScope, runId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update runs set ready_at = now()
    where org_id = ${scope.orgId} and id = ${runId} and status = 'queued'
      and not exists (select 1 from runs other where other.lane_id = runs.lane_id and other.status = 'running')
      and not exists (
        select 1 from runs other
        where other.lane_id = runs.lane_id and other.status = 'queued' and other.seq < runs.seq)`.execute(tx);
  return numAffectedRows === 1n;
}

export async function findNextRuns(db: Db, { orgId }: OrgScope, endedId: string): Promise<readonly AddressedRun[]> {
  return await nextRuns(db, { orgId, endedId });
}

const nextRuns = statement(
  (_, { orgId, endedId }: Placeholders<{ readonly orgId: string; readonly endedId: string }>) => sql<AddressedRun>`
    with next as (
      update runs set ready_at = now()
      where status = 'queued' and id = (
        select queued.id from runs ended join runs queued on queued.lane_id = ended.lane_id and queued.status = 'queued'
        where ended.org_id = ${orgId} and ended.id = ${endedId} order by queued.seq limit 1)
      returning id)
    select * from (${runsInTurn(orgId, queued(orgId, sql`id = (select id from next)`))}) turn`,
);
