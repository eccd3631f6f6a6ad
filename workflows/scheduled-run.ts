/**
 * One firing of a schedule. The database decides whether it creates a run, so a schedule that Temporal should no longer have
 * starts nothing.
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

/** The due time before jitter, set by Temporal. */
const firingKey = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

export function firingTime(): string {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return (typedSearchAttributes.get(firingKey) ?? startTime).toISOString();
}

interface BegunFiring {
  readonly runId: string;
  readonly firing: Firing;
  readonly last: ChunkResult;
}

/** `begun` is the state at the restart of the history, absent for a new firing. */
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

async function begin(input: ScheduledRunInput, firing: Firing): Promise<FirstStep> {
  const first = await tryFirst((scheduledAtMs) => here.fireHere(input, firing.scheduledFor, scheduledAtMs));
  return first ?? { ...(await control.createScheduledRun(input, firing.scheduledFor)), chunk: null, error: null };
}
