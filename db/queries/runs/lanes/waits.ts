import { sql } from 'kysely';
import { orgLimits } from '../../../../src/core/resources/org-limits.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import type { AddressedRun } from '../firings.ts';

/** The wait of an open run, as far as its rows say: less than `runsInTurn` (turns.ts) looks at. */
export interface RunWait extends AddressedRun {
  readonly status: 'queued' | 'running';
  /** Whether Temporal has taken it. */
  readonly isDispatched: boolean;
  /** A run that has to end before it begins, the running one first; null: there is none. */
  readonly before: { readonly id: string; readonly resourceKey: string } | null;
  /** How many such runs there are. */
  readonly runsBefore: number;
  /** Running runs of its connection, and how many may run at once. */
  readonly ofConnection: number;
  readonly concurrentMax: number;
  /** The same of the org. */
  readonly ofOrg: number;
  readonly runsAtOnce: number;
}

/** The waits of these runs; those that have ended, are absent or of another org are missing. */
export async function findRunWaits(db: Db, { orgId }: OrgScope, ids: readonly string[]): Promise<readonly RunWait[]> {
  const { rows } = await sql<RunWait>`
    select run.id, run.connection_id, run.resource_key, run.schedule_id, run.scheduled_for, run.status,
      run.dispatched_at is not null as is_dispatched, first.before, coalesce(first.runs_before, 0)::int as runs_before,
      (select count(*) from runs where connection_id = run.connection_id and status = 'running')::int as of_connection,
      run.concurrent_max,
      (select count(*) from runs where org_id = ${orgId} and status = 'running')::int as of_org,
      coalesce((orgs.limits ->> 'runsAtOnce')::int, ${orgLimits.runsAtOnce.default}) as runs_at_once
    from runs run join orgs on orgs.id = run.org_id
    left join lateral (
      select count(*) as runs_before, (jsonb_agg(
        jsonb_build_object('id', id, 'resourceKey', resource_key) order by status desc, seq))[0] as before
      from (
        select id, resource_key, status, seq from runs
        where connection_id = run.connection_id and status = 'running'
          and (lane_id = run.lane_id or resource_key = any(run.waits_for))
        union all
        select queued.id, queued.resource_key, queued.status, queued.seq
        from lanes join runs queued on queued.lane_id = lanes.id and queued.status = 'queued' and queued.seq < run.seq
        where lanes.org_id = ${orgId} and lanes.connection_id = run.connection_id
          and (lanes.id = run.lane_id or lanes.resource_key = any(run.waits_for))) earlier) first on run.status = 'queued'
    where run.org_id = ${orgId} and run.id = any(${[...ids]}::text[]) and run.status in ('queued', 'running')`.execute(
    db,
  );
  return rows;
}
