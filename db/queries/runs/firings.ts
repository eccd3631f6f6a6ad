import { sql } from 'kysely';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type { LaneKey } from '../../../src/core/model/lane-key.ts';
import type { ScheduleRow } from '../../../src/core/resources/schedule.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
import { namesRunStarted } from './run-events.ts';

/** `scheduledFor` is an ISO time. */
interface Firing {
  readonly scheduleId: string;
  readonly scheduledFor: string;
}

/** A run, with the parts of its workflow's address. */
export interface AddressedRun extends LaneKey {
  readonly id: string;
  /** The firing; both `null` if no schedule created the run. */
  readonly scheduleId: string | null;
  readonly scheduledFor: string | null;
}

export async function findFiring(db: Db, scope: OrgScope, id: string): Promise<Firing | undefined> {
  const run = await db
    .selectFrom('runs')
    .select(['scheduleId', 'scheduledFor'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  const { scheduleId = null, scheduledFor = null } = run ?? {};
  return scheduleId === null || scheduledFor === null ? undefined : { scheduleId, scheduledFor };
}

export interface FiringFacts {
  readonly schedule: ScheduleRow;
  readonly isDeleted: boolean;
  /** Before the schedule was made, or after now (`isAhead`), by more than a minute, as clocks differ. */
  readonly isBefore: boolean;
  readonly isAhead: boolean;
  readonly runId: string | null;
  readonly laneId: number | null;
  /** A queued run of the resource will read what is new: it is not a backfill and was not asked to stop. */
  readonly isWaitedFor: boolean;
  /**
   * The newest started run of the resource began no earlier than the firing, is not a backfill, and was neither failed nor
   * canceled.
   */
  readonly isRead: boolean;
  /** The last run was quick, and no endpoint gets `run.started` before. */
  readonly mayBeginAtOnce: boolean;
  readonly specJson: JsonObject;
}

/**
 * The caller has locked the schedule and its connection (`lockConnectionOfSchedule`). So the schedule stays as it is, and no run
 * of it begins, until the transaction ends.
 */
export async function findFiringFacts(
  tx: Db,
  scope: OrgScope,
  { scheduleId, scheduledFor }: Firing,
): Promise<FiringFacts | undefined> {
  const [row] = await firingFacts(tx, { orgId: scope.orgId, scheduleId, scheduledFor });
  if (!row) return undefined;
  const { id, connectionId, resourceKey, cron, timezone, enabled, ...facts } = row;
  return { ...facts, schedule: { id, connectionId, resourceKey, cron, timezone, enabled } };
}

const firingFacts = statement(
  (_, v: Placeholders<Firing & { readonly orgId: string }>) => sql<Omit<FiringFacts, 'schedule'> & ScheduleRow>`
    select schedules.id, schedules.connection_id, schedules.resource_key, cron, timezone, enabled,
      schedules.deleted_at is not null as is_deleted,
      ${v.scheduledFor} < schedules.created_at - interval '1 minute' as is_before,
      ${v.scheduledFor} > now() + interval '1 minute' as is_ahead,
      spec_versions.spec_json, lanes.id as lane_id,
      (select id from runs
        where org_id = ${v.orgId} and schedule_id = ${v.scheduleId} and scheduled_for = ${v.scheduledFor}) as run_id,
      exists (
        select from runs
        where lane_id = lanes.id and status = 'queued' and trigger <> 'backfill' and cancel_requested_at is null)
        as is_waited_for,
      coalesce((
        select started_at >= ${v.scheduledFor} and backfill is null and status not in ('failed', 'canceled') from runs
        where lane_id = lanes.id and started_at is not null order by seq desc limit 1), false) as is_read,
      coalesce(quick, false) and not ${namesRunStarted(v.orgId)} as may_begin_at_once
    from schedules
      join connections on connections.id = schedules.connection_id
      join spec_versions on spec_versions.spec_id = connections.spec_id
        and spec_versions.version = connections.pinned_spec_version
      left join lanes on lanes.org_id = schedules.org_id and lanes.connection_id = schedules.connection_id
        and lanes.resource_key = schedules.resource_key
    where schedules.org_id = ${v.orgId} and schedules.id = ${v.scheduleId}`,
);
