import { sql } from 'kysely';
import type { LaneKey } from '../../../src/core/model/lane-key.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/** The failed run of a resource that nothing has ended well since. */
export interface LastFailure extends LaneKey {
  readonly runId: string;
  /** The code of the error; null: the run ended without one. */
  readonly errorCode: string | null;
}

/** The newest failure of each of these connections that is the last outcome of its resource. Others are missing. */
export async function findLastFailures(
  db: Db,
  scope: OrgScope,
  connectionIds: readonly string[],
): Promise<readonly LastFailure[]> {
  const { rows } = await sql<LastFailure>`
    select distinct on (lanes.connection_id)
      lanes.connection_id, lanes.resource_key, ended.id as run_id, ended.error_code
    from lanes cross join lateral (
      select id, status, error_code, finished_at from runs
      where lane_id = lanes.id and status in ('succeeded', 'partial', 'failed')
      order by seq desc limit 1) ended
    where lanes.org_id = ${scope.orgId} and lanes.connection_id = any(${[...connectionIds]}::text[])
      and ended.status = 'failed'
    order by lanes.connection_id, ended.finished_at desc nulls last`.execute(db);
  return rows;
}
