import { sql } from 'kysely';
import type { LaneKey } from '../../../src/core/model/lane-key.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { attemptsFail } from '../connections/freshness.ts';

/** The failed last outcome of a resource, or a running run whose attempts fail. */
export interface LastFailure extends LaneKey {
  readonly runId: string;
  readonly errorCode: string | null;
  readonly goesOn: boolean;
}

/** For each connection, the failure of a running run, or else its newest last outcome that failed; others are missing. */
export async function findLastFailures(
  db: Db,
  scope: OrgScope,
  connectionIds: readonly string[],
): Promise<readonly LastFailure[]> {
  const { rows } = await sql<LastFailure>`
    select distinct on (lanes.connection_id)
      lanes.connection_id, lanes.resource_key, failed.id as run_id, failed.error_code,
      failed.status = 'running' as goes_on
    from lanes cross join lateral (
      select id, status, error_code, finished_at from runs
      where lane_id = lanes.id and status = 'running' and ${attemptsFail}
      union all (
        select id, status, error_code, finished_at from runs
        where lane_id = lanes.id and status in ('succeeded', 'partial', 'failed')
        order by seq desc limit 1)) failed
    where lanes.org_id = ${scope.orgId} and lanes.connection_id = any(${[...connectionIds]}::text[])
      and failed.status in ('running', 'failed')
    order by lanes.connection_id, goes_on desc, failed.finished_at desc nulls last`.execute(db);
  return rows;
}
