import { type RawBuilder, sql } from 'kysely';
import { overdueIntervals, type ResourceFacts } from '../../../src/core/schedule/freshness.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { type RunLine, runLineColumns } from '../runs/run-columns.ts';

/** A lane is first in, first out, so its newest run is also the last to end. */
export async function findResourceFacts(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKeys }: { readonly connectionId: string; readonly resourceKeys: readonly string[] },
): Promise<ResourceFacts[]> {
  const { rows } = await sql<ResourceFacts>`
    select wanted.key as resource_key,
      newest.at as last_run_at, newest.status as last_run_status,
      exists (select 1 from runs where lane_id = lanes.id and status = 'running')
        or exists (select 1 from runs where lane_id = lanes.id and status = 'queued') as in_progress,
      ${attemptsFail} as attempts_fail, ${hasQuarantined(sql.ref('wanted.key'))} as has_quarantined,
      ended.status as last_outcome,
      success.finished_at as last_success_at, success.records_out as last_records,
      expected.seconds as expected_interval_seconds, expected.overdue_at
    from connections
    cross join unnest(${resourceKeys}::text[]) with ordinality as wanted (key, place)
    left join lanes
      on lanes.org_id = connections.org_id and lanes.connection_id = connections.id and lanes.resource_key = wanted.key
    left join lateral (
      select status, coalesce(started_at, created_at) as at from runs where lane_id = lanes.id
      order by seq desc limit 1) newest on true
    left join lateral (
      select status from runs where lane_id = lanes.id and status in ('succeeded', 'partial', 'failed')
      order by seq desc limit 1) ended on true
    left join lateral (${lastSuccess}) success on true
    left join lateral (${expectedInterval(sql.ref('wanted.key'))}) expected on true
    where connections.org_id = ${scope.orgId} and connections.id = ${connectionId}
    order by wanted.place`.execute(db);
  return rows;
}

/** Whether attempts of the running run of the row of `lanes` have failed since its last recorded batch. */
export const attemptsFail: RawBuilder<boolean> = sql`exists (
  select from runs where lane_id = lanes.id and status = 'running' and error_code is not null and attempts > 0)`;

export const hasQuarantined = (resourceKey: RawBuilder<unknown>): RawBuilder<boolean> => sql`exists (
  select from quarantine where quarantine.org_id = connections.org_id and quarantine.connection_id = connections.id
    and quarantine.resource_key = ${resourceKey} and resolved_at is null)`;

export const lastSuccess: RawBuilder<unknown> = sql`
  select finished_at, records_out from runs where lane_id = lanes.id and status = 'succeeded' order by seq desc limit 1`;

/**
 * Columns over the row of `connections` and the row `success` of {@link lastSuccess}. `seconds` is the longest gap of the
 * resource's enabled schedules, `null` without any. The smallest of several gaps counts, as together the schedules fire at least
 * as often. `overdue_at` is when the first of them makes it overdue.
 */
export const expectedInterval = (resourceKey: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select min(longest_gap_seconds) as seconds, min(
      case when success.finished_at is not null then greatest(success.finished_at, fires_since, schedules.created_at)
        + make_interval(secs => longest_gap_seconds * ${sql.lit(overdueIntervals)}) end) as overdue_at
  from schedules
  where schedules.org_id = connections.org_id and schedules.connection_id = connections.id
    and schedules.resource_key = ${resourceKey} and schedules.enabled and schedules.deleted_at is null`;

/** Decides as `isOverdue` does, over the row `expected` of {@link expectedInterval}. */
export const overdueNow: RawBuilder<boolean> = sql`coalesce(expected.overdue_at < now(), false)`;

export const findRecentRuns = (
  db: Db,
  { orgId }: OrgScope,
  { connectionId, limit }: { readonly connectionId: string; readonly limit: number },
): Promise<RunLine[]> =>
  db
    .selectFrom('runs')
    .select(runLineColumns)
    .where('orgId', '=', orgId)
    .where('connectionId', '=', connectionId)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
