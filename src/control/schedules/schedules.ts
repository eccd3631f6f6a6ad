import { recordConnectionEvents } from '../../../db/queries/connections/connection-events.ts';
import { findConnection, lockConnection } from '../../../db/queries/connections/connections.ts';
import { lockOrg } from '../../../db/queries/orgs/org-limits.ts';
import {
  insertSchedule,
  lockSchedule,
  markScheduleDeleted,
  setScheduleEnabled,
} from '../../../db/queries/schedules.ts';
import { findPinnedSpec } from '../../../db/queries/specs.ts';
import { recordEvent } from '../../../db/queries/webhooks/events.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { AppError, found, type Issue, invalid, notFound, schemaIssue } from '../../core/errors.ts';
import { scheduleCreated, scheduleDeleted, scheduleUpdated } from '../../core/events/schedule-events.ts';
import { newId } from '../../core/ids.ts';
import type { ScheduleRow } from '../../core/resources/schedule.ts';
import { checkCron } from '../../core/schedule/cron.ts';
import { firingGaps } from '../../core/schedule/firing-gaps.ts';
import { longestGapSeconds } from '../../core/schedule/longest-gap.ts';
import { resolveTimezone } from '../../core/schedule/timezone.ts';
import { runTerms } from '../../core/spec/connection/run-terms.ts';
import type { Deps } from '../../deps.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { requireRoom } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';
import { type ApplyDeps, applyNow } from './apply.ts';

type ScheduleRequest = Pick<ScheduleRow, 'connectionId' | 'resourceKey' | 'cron' | 'timezone'>;

/**
 * Throws validation (cron, timezone, resourceKey), not_found (connection), conflict (the effective spec is invalid, or has no
 * destination).
 */
export async function createSchedule(
  deps: ApplyDeps & WriteDeps & Pick<Deps, 'scheduleMinIntervalSeconds' | 'defaultDestination'>,
  scope: OrgScope,
  request: ScheduleRequest,
): Promise<ScheduleRow> {
  const issues = [...cronIssues(deps, request.cron), ...timezoneIssues(request.timezone)];
  if (issues.length > 0)
    throw invalid('The schedule is not valid.', [...(await resourceIssues(deps, scope, request)), ...issues]);
  const { connectionId, resourceKey } = request;
  const schedule = await write(deps, async (tx) => {
    await lockOrg(tx, scope);
    const connection = found(await lockConnection(tx, scope, connectionId), 'Connection');
    const pinned = found(await findPinnedSpec(tx, scope, connectionId), 'Pinned spec version');
    const { defaultDestination } = deps;
    runTerms({ ...connection, specJson: pinned.specJson, resourceKey, defaultDestination, path: 'resourceKey' });
    await requireRoom(tx, scope, 'schedules');
    await requireRoom(tx, scope, 'schedulesPerResource', { connectionId, resourceKey });
    const gap = { longestGapSeconds: longestGapSeconds(request.cron) };
    const made = await insertSchedule(tx, scope, { ...request, ...gap });
    await recordEvent(tx, scope, scheduleCreated({ schedule: made, connection }));
    return made;
  });
  void wakeEndpoints(deps, scope);
  await applyNow(deps, scope, [schedule.id]);
  return schedule;
}

/** Issues of the resource, so that the caller sees all mistakes at once. */
async function resourceIssues(
  { db, defaultDestination }: Pick<Deps, 'db' | 'defaultDestination'>,
  scope: OrgScope,
  { connectionId, resourceKey }: Pick<ScheduleRequest, 'connectionId' | 'resourceKey'>,
): Promise<readonly Issue[]> {
  const connection = await findConnection(db, scope, connectionId);
  const pinned = connection && (await findPinnedSpec(db, scope, connectionId));
  if (!pinned) return [];
  try {
    runTerms({ ...connection, specJson: pinned.specJson, resourceKey, defaultDestination, path: 'resourceKey' });
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.issues ?? [];
  }
}

export function cronIssues(
  { scheduleMinIntervalSeconds: min }: Pick<Deps, 'scheduleMinIntervalSeconds'>,
  cron: string,
): readonly Issue[] {
  const { calendars, issue } = checkCron(cron);
  if (!calendars) return [schemaIssue('cron', issue)];
  const { shortest } = firingGaps(calendars);
  if (shortest >= min) return [];
  const message = `its shortest interval is ${shortest} s; this deployment allows no less than ${min} s`;
  return [schemaIssue('cron', message)];
}

export function timezoneIssues(timezone: string): readonly Issue[] {
  if (resolveTimezone(timezone) !== null) return [];
  const message = 'expected a zone of the IANA database such as Europe/Berlin; an offset is not a zone';
  return [schemaIssue('timezone', message)];
}

/** Firings missed while it was off are not repeated; throws not_found. */
export async function toggleSchedule(
  deps: ApplyDeps,
  scope: OrgScope,
  change: Pick<ScheduleRow, 'id' | 'enabled'>,
): Promise<ScheduleRow> {
  const schedule = await deps.db.transaction().execute(async (tx) => {
    const previous = await lockSchedule(tx, scope, change.id);
    const toggled = previous && (await setScheduleEnabled(tx, scope, change));
    if (!toggled) throw notFound('Schedule');
    if (toggled.enabled !== previous.enabled) {
      const deduplicationId = newId('evt');
      await recordConnectionEvents(tx, scope, toggled.connectionId, (connection) => [
        scheduleUpdated({ schedule: toggled, connection, previous, deduplicationId }),
      ]);
    }
    return toggled;
  });
  void wakeEndpoints(deps, scope);
  await applyNow(deps, scope, [schedule.id]);
  return schedule;
}

/** Runs it has started continue; throws not_found. */
export async function deleteSchedule(deps: ApplyDeps, scope: OrgScope, id: string): Promise<void> {
  await deps.db.transaction().execute(async (tx) => {
    const schedule = found(await markScheduleDeleted(tx, scope, id), 'Schedule');
    await recordConnectionEvents(tx, scope, schedule.connectionId, (connection) => [
      scheduleDeleted({ schedule, connection }),
    ]);
  });
  void wakeEndpoints(deps, scope);
  await applyNow(deps, scope, [id]);
}
