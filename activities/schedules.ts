import type { Db } from '../db/client.ts';
import { lockConnection } from '../db/queries/connections/connections.ts';
import { findRunOfFiring, hasReadSince } from '../db/queries/runs/firings.ts';
import { findWaitingRun } from '../db/queries/runs/runs.ts';
import { findSchedule } from '../db/queries/schedules.ts';
import { recordEvent } from '../db/queries/webhooks/events.ts';
import { type OrgScope, orgScope } from '../db/scope.ts';
import { type SkipReason, scheduleSkipped } from '../src/core/events/schedule-events.ts';
import type { ConnectionRow } from '../src/core/resources/connection.ts';
import type { RunRow } from '../src/core/resources/run.ts';
import type { ScheduleRow } from '../src/core/resources/schedule.ts';
import type { Deps } from '../src/deps.ts';
import { startQueuedRun } from '../src/dispatch/start-run.ts';
import { wakeEndpoints } from '../src/dispatch/wake-endpoints.ts';
import type { Firing, FiringOutcome, ScheduledTickInput } from '../workflows/contract.ts';
import { createRun } from './create-run.ts';
import { withFailures } from './failures.ts';
import { notCreated, outcomeOf } from './firing-outcome.ts';

type ScheduleDeps = Pick<Deps, 'db' | 'orchestrator' | 'log' | 'defaultDestination'>;

/** The activities for firings of schedules. */
export function createScheduleActivities(deps: ScheduleDeps) {
  return {
    /**
     * Creates the run of a firing, as {@link createRunOfFiring} does. Safe to run twice: a repeat finds the run of the
     * firing (test/integration/schedule-ticks.test.ts), or the event that none was created
     * (test/integration/event-recording.test.ts).
     */
    createScheduledRun: (input: ScheduledTickInput, scheduledFor: string): Promise<FiringOutcome> =>
      withFailures(notCreated(deps, input, scheduledFor), async () =>
        outcomeOf(await createRunOfFiring(deps, input, scheduledFor)),
      ),
    /**
     * Creates the run of a firing whose workflow ends with it: another one executes the run. Safe to run twice: a repeat
     * finds the run of the firing (test/integration/schedule-ticks.test.ts) and starts its workflow under the same id.
     */
    enqueueScheduledRun: (input: ScheduledTickInput, scheduledFor: string): Promise<FiringOutcome> =>
      withFailures(notCreated(deps, input, scheduledFor), async () => {
        const firing = { scheduleId: input.scheduleId, scheduledFor };
        const created = await createRunOfFiring(deps, input, scheduledFor);
        if (typeof created !== 'string') await startQueuedRun(deps, orgScope(input.orgId), created, firing);
        return outcomeOf(created);
      }),
  };
}

/**
 * Creates the run of a firing, whose workflow calls this, or returns as text why there is none: the schedule is off, its
 * connection is not active, or another run reads the same.
 */
export async function createRunOfFiring(
  deps: ScheduleDeps,
  { orgId, scheduleId }: ScheduledTickInput,
  scheduledFor: string,
): Promise<RunRow | string> {
  const scope = orgScope(orgId);
  const firing = { scheduleId, scheduledFor };
  const created = await deps.db.transaction().execute((tx) => createOrSkip(deps, tx, scope, firing));
  if (typeof created === 'string') await wakeEndpoints(deps, scope);
  deps.log.info('schedule fired', { orgId, ...firing, ...outcomeOf(created) });
  return created;
}

/** The run of a firing, or why there is none; the latter is an event unless a user caused it on purpose. */
async function createOrSkip(
  deps: Pick<ScheduleDeps, 'defaultDestination'>,
  tx: Db,
  scope: OrgScope,
  firing: Firing,
): Promise<RunRow | string> {
  const existing = () => findRunOfFiring(tx, scope, firing);
  const schedule = await findSchedule(tx, scope, firing.scheduleId);
  if (!schedule?.enabled) return (await existing()) ?? (schedule ? 'schedule disabled' : 'schedule deleted');
  const { connectionId, resourceKey } = schedule;
  // Firings of one connection are serialized, so that two of them do not both find no waiting run, and two attempts at one
  // of them do not both create its run.
  const connection = await lockConnection(tx, scope, connectionId);
  const created = await existing();
  if (created) return created;
  if (!connection) return 'connection deleted';
  const skipped = skipper(tx, scope, { schedule, connection, ...firing });
  if (connection.status !== 'active') return skipped('connection_not_active', `connection ${connection.status}`);
  if (await findWaitingRun(tx, scope, schedule)) return skipped('overlap', 'a run of the resource is already queued');
  // After an outage Temporal starts all firings that it missed. The first run reads what the others would read.
  if (await hasReadSince(tx, scope, { connectionId, resourceKey, since: firing.scheduledFor }))
    return 'a run of the resource began after this firing was due';
  const run = await createRun(deps, tx, scope, { connection, resourceKey, trigger: 'schedule', firing });
  return typeof run === 'string' ? skipped('spec_invalid', run) : run;
}

interface SkippedFiring extends Firing {
  readonly schedule: ScheduleRow;
  readonly connection: ConnectionRow;
}

/** Records that a firing creates no run; returns the text for operators. */
const skipper =
  (tx: Db, scope: OrgScope, { schedule, connection, scheduledFor }: SkippedFiring) =>
  async (reason: SkipReason, words: string): Promise<string> => {
    await recordEvent(tx, scope, scheduleSkipped({ schedule, connection, scheduledFor, reason }));
    return words;
  };
