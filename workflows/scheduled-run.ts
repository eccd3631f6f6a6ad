/**
 * One firing of a schedule, and the run that it creates. Whether there is one is decided in the database, so a schedule
 * that Temporal should no longer have starts nothing; the result then says why. The rest is a run like any other.
 */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import {
  type ChunkResult,
  type Firing,
  type FiringOutcome,
  type FirstStep,
  nothingRead,
  type RunTotals,
  type ScheduledRunInput,
} from './contract.ts';
import { control, here } from './proxies.ts';
import { openState, restartHistory, runToEnd, showRunId, tryFirst } from './run-to-end.ts';

/** Set by Temporal: when it was to fire, before jitter. */
const firingKey = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** When this firing was due; ISO. */
export function firingTime(): string {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return (typedSearchAttributes.get(firingKey) ?? startTime).toISOString();
}

/** What a firing keeps when its history is restarted. */
interface BegunFiring {
  readonly runId: string;
  readonly firing: Firing;
  /** What was read so far. */
  readonly last: ChunkResult;
}

/** `begun` is what there was when the history was restarted; absent: it has just fired. */
export async function scheduledRun(input: ScheduledRunInput, begun?: BegunFiring): Promise<RunTotals | FiringOutcome> {
  const state = openState(begun ? 'waiting' : 'running', begun?.last ?? nothingRead);
  const firing = begun?.firing ?? { scheduleId: input.scheduleId, scheduledFor: firingTime() };
  const first = begun ? null : await begin(input, firing);
  const runId = begun?.runId ?? first?.runId ?? null;
  if (runId === null) {
    const outcome = first?.outcome ?? '';
    setCurrentDetails(outcome);
    return { outcome, runId };
  }
  if (!begun) showRunId(runId);
  const { orgId, connectionId, resourceKey } = input;
  const restart = (last: ChunkResult) => restartHistory<typeof scheduledRun>(input, { runId, firing, last });
  const totals = await runToEnd({ orgId, connectionId, resourceKey, runId, firing }, state, { first, restart });
  return { ...totals, runId };
}

/** Creates the run of a firing, and reads it if that is quick. */
async function begin(input: ScheduledRunInput, firing: Firing): Promise<FirstStep> {
  const first = await tryFirst((scheduledAtMs) => here.fireHere(input, firing.scheduledFor, scheduledAtMs));
  return first ?? { ...(await control.createScheduledRun(input, firing.scheduledFor)), chunk: null, error: null };
}
