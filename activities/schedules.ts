import type { Db } from '../db/client.ts';
import { lockConnection } from '../db/queries/connections.ts';
import { findRunOfFiring, hasWaitingRun, insertRun, markDispatched } from '../db/queries/runs.ts';
import { findSchedule } from '../db/queries/schedules.ts';
import { findPinnedSpec } from '../db/queries/specs.ts';
import { type OrgScope, orgScope } from '../db/scope.ts';
import { AppError } from '../src/core/errors.ts';
import type { RunRow } from '../src/core/rows.ts';
import { type RunTerms, runTerms } from '../src/core/spec/run-terms.ts';
import type { Deps } from '../src/deps.ts';
import type { ScheduledTickInput, TickOutcome } from '../workflows/contract.ts';
import { toFailure } from './failures.ts';

type ScheduleDeps = Pick<Deps, 'db' | 'orchestrator' | 'log' | 'defaultDestination'>;

/** A firing of a schedule. */
interface Firing {
  readonly scheduleId: string;
  readonly scheduledFor: string;
}

/** What firings of schedules do. */
export function createScheduleActivities(deps: ScheduleDeps) {
  return {
    /**
     * Makes the run of a firing, unless the database forbids it: the schedule is off, its connection is not active, or a
     * run waits already that will read what this one would. A repeat finds the run of the firing.
     */
    async enqueueScheduledRun(input: ScheduledTickInput, scheduledFor: string): Promise<TickOutcome> {
      const { orgId, scheduleId } = input;
      const scope = orgScope(orgId);
      try {
        const made = await deps.db
          .transaction()
          .execute((trx) => enqueue(deps, trx, scope, { scheduleId, scheduledFor }));
        const tick =
          typeof made === 'string'
            ? { outcome: `skipped: ${made}`, runId: null }
            : { outcome: 'started', runId: made.id };
        if (typeof made !== 'string') await start(deps, scope, made);
        deps.log.info('schedule fired', { ...input, scheduledFor, ...tick });
        return tick;
      } catch (error) {
        deps.log.error('scheduled run not made', { ...input, scheduledFor, error });
        throw toFailure(error);
      }
    },
  };
}

/** The run of a firing, or why there is none. */
async function enqueue(
  deps: Pick<ScheduleDeps, 'defaultDestination'>,
  trx: Db,
  scope: OrgScope,
  firing: Firing,
): Promise<RunRow | string> {
  const made = await findRunOfFiring(trx, scope, firing);
  if (made) return made;
  const schedule = await findSchedule(trx, scope, firing.scheduleId);
  if (!schedule) return 'schedule deleted';
  if (!schedule.enabled) return 'schedule disabled';
  const { connectionId, resourceKey } = schedule;
  // Firings of one connection come one after the other, so that two of them do not both find nobody waiting.
  const connection = await lockConnection(trx, scope, connectionId);
  if (connection?.status !== 'active') return `connection ${connection?.status ?? 'deleted'}`;
  if (await hasWaitingRun(trx, scope, schedule)) return 'a run of the resource is waiting already';
  const specJson = (await findPinnedSpec(trx, scope, connectionId))?.specJson ?? {};
  const { defaultDestination } = deps;
  const terms = termsOrFault({ ...connection, specJson, resourceKey, defaultDestination, path: 'resourceKey' });
  if (typeof terms === 'string') return terms;
  const { concurrentMax, waitsFor } = terms;
  const run = { connectionId, resourceKey, concurrentMax, waitsFor, trigger: 'schedule', backfill: null } as const;
  return insertRun(trx, scope, { ...run, ...firing });
}

function termsOrFault(question: Parameters<typeof runTerms>[0]): RunTerms | string {
  try {
    return runTerms(question);
  } catch (error) {
    if (error instanceof AppError) return error.issues?.[0]?.message ?? error.message;
    throw error;
  }
}

/** Starts the workflow of a run; what fails is left to the sweeper. */
async function start({ db, orchestrator, log }: ScheduleDeps, scope: OrgScope, run: RunRow): Promise<void> {
  const { id: runId, connectionId, resourceKey, trigger } = run;
  try {
    await orchestrator.startRun({ orgId: scope.orgId, connectionId, resourceKey, runId }, trigger);
    await markDispatched(db, scope, runId);
  } catch (error) {
    log.warn('Temporal not reached; the sweeper will try again', { runId, error });
  }
}
