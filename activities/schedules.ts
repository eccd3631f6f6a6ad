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

export interface FiringRun extends Pick<RunRow, 'id' | 'connectionId' | 'resourceKey' | 'trigger'> {
  /** True if the run has begun, so that its first attempt is counted. */
  readonly hasBegun: boolean;
}

interface FiringOptions {
  /** Begins the run at once if it is its turn and the last one of its lane was quick. */
  readonly begins?: boolean;
}

export function createScheduleActivities(deps: ScheduleDeps) {
  return {
    /**
     * Safe to run twice: a repeat finds the run of the firing (test/integration/schedule-ticks.test.ts), or the event that
     * none was created (test/integration/event-recording.test.ts).
     */
    createScheduledRun: (input: ScheduledTickInput, scheduledFor: string): Promise<FiringOutcome> =>
      withFailures(notCreated(deps, input, scheduledFor), async () =>
        outcomeOf(await createRunOfFiring(deps, input, scheduledFor)),
      ),
    /**
     * Another workflow executes the run. Safe to run twice: a repeat finds the run of the firing
     * (test/integration/schedule-ticks.test.ts) and starts its workflow under the same id.
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
 * Returns the reason as text if the schedule is off or does not fire at this time, the connection is not active, or another
 * run reads the same.
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

/** A skip is an event unless a user caused it on purpose. */
async function createOrSkip(
  { defaultDestination, log }: Pick<ScheduleDeps, 'defaultDestination' | 'log'>,
  tx: Db,
  scope: OrgScope,
  { begins = false, ...firing }: Firing & FiringOptions,
): Promise<FiringRun | string> {
  // Otherwise two firings could both find no waiting run, or two attempts at one firing both create its run.
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
  // After an outage Temporal starts all missed firings; the first run reads what the others would read.
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
 * `null` if the schedule planned this firing: a client with write access to Temporal could start one for any time. Lateness
 * does not matter, since a firing may have waited for Temporal or for a worker.
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

const skipper =
  (tx: Db, scope: OrgScope, { schedule, connection, scheduledFor }: SkippedFiring) =>
  async (reason: SkipReason, words: string): Promise<string> => {
    await recordEvent(tx, scope, scheduleSkipped({ schedule, connection, scheduledFor, reason }));
    return words;
  };
