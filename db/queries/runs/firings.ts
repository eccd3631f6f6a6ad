import { sql } from 'kysely';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type { LaneKey } from '../../../src/core/model/lane-key.ts';
import type { ScheduleRow } from '../../../src/core/resources/schedule.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
import { namesRunStarted } from './run-events.ts';

/** One firing of a schedule; the time is ISO. */
interface Firing {
  readonly scheduleId: string;
  readonly scheduledFor: string;
}

/** A run, and what else the address of its workflow has. */
export interface AddressedRun extends LaneKey {
  readonly id: string;
  /** The firing; both null: no schedule created it. */
  readonly scheduleId: string | null;
  readonly scheduledFor: string | null;
}

/** The firing that created a run; undefined: no schedule did, or there is no such run. */
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

/** What decides whether a firing creates a run. */
export interface FiringFacts {
  /** A deleted one, too. */
  readonly schedule: ScheduleRow;
  readonly isDeleted: boolean;
  /** It is before the schedule was made, or after now; by more than a minute, as clocks differ. */
  readonly isBefore: boolean;
  readonly isAhead: boolean;
  /** The run that the firing has created; null: it created none. */
  readonly runId: string | null;
  /** The lane of the resource; null: it never had a run. */
  readonly laneId: number | null;
  /** A run of the resource waits and will read what is new: neither a backfill nor one that was asked to stop. */
  readonly isWaitedFor: boolean;
  /** The last run of the resource that has begun did so when the firing was due or later, is no backfill, and has not failed. */
  readonly isRead: boolean;
  /** Whether a run may begin with its row: the last one was quick, and nobody is to be told before. */
  readonly mayBeginAtOnce: boolean;
  /** The pinned document of the connection. */
  readonly specJson: JsonObject;
}

/**
 * The facts of a firing, as of now. The caller has locked the schedule and its connection (`lockConnectionOfSchedule`), so the
 * schedule stays as it is, and no run of it begins, until the transaction ends. Undefined: there is no such schedule.
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
