import { sql } from 'kysely';
import { newId } from '../../../../src/core/ids.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type Placeholders, statement } from '../../../statement.ts';
import { type RunToInsert, runsInTurn, toInsert } from './turns.ts';

export interface InsertedRun {
  readonly id: string;
  readonly hasBegun: boolean;
}

/**
 * The run begins at once if it is its turn, as `beginRun` lets one begin. Org and connection are locked as there, and the facts
 * of the firing say that a run may begin with its row.
 */
export async function insertInTurn(
  tx: Db,
  scope: OrgScope,
  run: Omit<RunToInsert, 'id' | 'orgId'>,
): Promise<InsertedRun> {
  const [inserted] = await insert(tx, { ...run, id: newId('run'), orgId: scope.orgId });
  if (!inserted) throw new Error(`No run of ${run.connectionId} was inserted`);
  return inserted;
}

const insert = statement(
  (_, v: Placeholders<RunToInsert>) => sql<InsertedRun>`
    with turn as materialized (
      select exists (select from (${runsInTurn(v.orgId, toInsert(v))}) next where next.id = ${v.id}) as has_come)
    insert into runs (
      id, org_id, connection_id, resource_key, lane_id, concurrent_max, waits_for, trigger, schedule_id, scheduled_for,
      dispatched_at, status, started_at, progressed_at, attempts, watermark_before, watermark_after, spec_version,
      spec_overrides_json, params_json, access_no)
    select ${v.id}, ${v.orgId}, ${v.connectionId}, ${v.resourceKey}, ${v.laneId}::bigint, ${v.concurrentMax}::int,
      ${v.waitsFor}::text[], 'schedule', ${v.scheduleId}, ${v.scheduledFor}::timestamptz, now(),
      case when has_come then 'running' else 'queued' end, started_at, progressed_at, case when has_come then 1 else 0 end,
      mark, mark, pinned_spec_version, spec_overrides_json, params_json, access_no
    from turn left join (
      select clock_timestamp() as started_at, now() as progressed_at, mark, pinned_spec_version, spec_overrides_json,
        params_json, access_no
      from connections, lane_watermark(${v.laneId}::bigint) as mark
      where connections.org_id = ${v.orgId} and connections.id = ${v.connectionId}) begun on has_come
    returning id, status = 'running' as has_begun`,
);
