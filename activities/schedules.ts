import type { Db } from '../db/client.ts';
import { lockConnectionOfSchedule } from '../db/queries/connections/connections.ts';
import { type FiringFacts, findFiringFacts } from '../db/queries/runs/firings.ts';
import { insertInTurn } from '../db/queries/runs/lanes/insert-in-turn.ts';
import { insertRun } from '../db/queries/runs/runs.ts';
import { recordEvent } from '../db/queries/webhooks/events.ts';
import { type OrgScope, orgScope } from '../db/scope.ts';
import { type SkipReason, scheduleSkipped } from '../src/core/events/schedule-events.ts';
import type { ConnectionRow } from '../src/core/resources/connection.ts';
import type { RunRow } from '../src/core/resources/run.ts';
import type { ScheduleRow } from '../src/core/resources/schedule.ts';
import { firesAt } from '../src/core/schedule/fires-at.ts';
import type { Deps } from '../src/deps.ts';
import { startQueuedRun } from '../src/dispatch/start-run.ts';
import { wakeEndpoints } from '../src/dispatch/wake-endpoints.ts';
import type { Firing, FiringOutcome, ScheduledTickInput } from '../workflows/contract.ts';
import { idsOf } from '../workflows/input-ids.ts';
import { automaticTerms } from './automatic-terms.ts';
import { withFailures } from './failures.ts';
import { notCreated, outcomeOf } from './firing-outcome.ts';

type ScheduleDeps = Pick<Deps, 'db' | 'orchestrator' | 'log' | 'defaultDestination'>;

/** The run of a firing. */
export interface FiringRun extends Pick<RunRow, 'id' | 'connectionId' | 'resourceKey' | 'trigger'> {
  /** Whether it has begun with this, so that its first attempt is counted. */
  readonly hasBegun: boolean;
}

interface FiringOptions {
  /** Whether the run begins at once if it is its turn and the last one of its lane was quick; otherwise it is queued. */
  readonly begins?: boolean;
}

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
 * Creates the run of a firing, whose workflow calls this, or returns as text why there is none: the schedule does not fire at
 * this time or is off, its connection is not active, or another run reads the same.
 */
export async function createRunOfFiring(
  deps: ScheduleDeps,
  { orgId, scheduleId }: ScheduledTickInput,
  scheduledFor: string,
  options: FiringOptions = {},
): Promise<FiringRun | string> {
  const scope = orgScope(orgId);
  const firing = { scheduleId, scheduledFor };
  const created = await deps.db.transaction().execute((tx) => createOrSkip(deps, tx, scope, { ...firing, ...options }));
  if (typeof created === 'string') await wakeEndpoints(deps, scope);
  const lane = typeof created === 'string' ? {} : idsOf(created);
  deps.log.info('schedule fired', { orgId, ...lane, ...firing, ...outcomeOf(created) });
  return created;
}

/** The run of a firing, or why there is none; the latter is an event unless a user caused it on purpose. */
async function createOrSkip(
  { defaultDestination, log }: Pick<ScheduleDeps, 'defaultDestination' | 'log'>,
  tx: Db,
  scope: OrgScope,
  { begins = false, ...firing }: Firing & FiringOptions,
): Promise<FiringRun | string> {
  // Firings of one connection are serialized, so that two of them do not both find no waiting run, and two attempts at one
  // of them do not both create its run.
  const connection = await lockConnectionOfSchedule(tx, scope, firing.scheduleId);
  const facts = await findFiringFacts(tx, scope, firing);
  if (!facts) return 'schedule deleted';
  const { schedule, runId, specJson, laneId } = facts;
  const { connectionId, resourceKey } = schedule;
  const place = { connectionId, resourceKey, trigger: 'schedule' } as const;
  if (runId !== null) return { ...place, id: runId, hasBegun: false };
  if (facts.isDeleted) return 'schedule deleted';
  if (!schedule.enabled) return 'schedule disabled';
  if (!connection) return 'connection deleted';
  const unplanned = whyUnplanned(facts, firing.scheduledFor);
  if (unplanned !== null) {
    log.warn('firing refused: only the times of a schedule create runs', {
      orgId: scope.orgId,
      ...firing,
      reason: unplanned,
    });
    return unplanned;
  }
  const skipped = skipper(tx, scope, { schedule, connection, ...firing });
  if (connection.status !== 'active') return skipped('connection_not_active', `connection ${connection.status}`);
  if (facts.isWaitedFor) return skipped('overlap', 'a run of the resource is already queued');
  // After an outage Temporal starts all firings that it missed. The first run reads what the others would read.
  if (facts.isRead) return 'a run of the resource began after this firing was due';
  const terms = automaticTerms({ ...connection, specJson, resourceKey, defaultDestination });
  if (typeof terms === 'string') return skipped('spec_invalid', terms);
  const { concurrentMax, waitsFor } = terms;
  const run = { ...place, ...firing, concurrentMax, waitsFor };
  if (begins && facts.mayBeginAtOnce && laneId !== null)
    return { ...place, ...(await insertInTurn(tx, scope, { ...run, laneId })) };
  const { id } = await insertRun(tx, scope, { ...run, backfill: null });
  return { ...place, id, hasBegun: false };
}

/**
 * Why the schedule has not planned to fire at this time, which Temporal says: whoever may write to Temporal starts a firing for
 * any time. Null: it has. How late it comes does not matter, since a firing may have waited for Temporal or for a worker.
 */
function whyUnplanned({ schedule, isAhead, isBefore }: FiringFacts, scheduledFor: string): string | null {
  if (isAhead) return 'the firing is not due yet';
  if (isBefore) return 'the schedule was made after this time';
  return firesAt(schedule, Date.parse(scheduledFor)) ? null : 'the schedule does not fire at this time';
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
