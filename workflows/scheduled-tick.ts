/**
 * One firing of a schedule. Temporal appends the time to a workflow's id, so a firing cannot be the workflow of its
 * run: it only makes the run's row. Whether it may is decided in the database, so a schedule that Temporal should no
 * longer have starts nothing; the outcome is the result.
 */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { control } from './bookkeeping.ts';
import type { ScheduledTickInput, TickOutcome } from './contract.ts';

/** Set by Temporal: when it was to fire, before jitter. */
const firingKey = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** Creates the run of a firing, or returns why there is none. */
export async function scheduledTick(input: ScheduledTickInput): Promise<TickOutcome> {
  const { typedSearchAttributes, startTime } = workflowInfo();
  const firing = typedSearchAttributes.get(firingKey) ?? startTime;
  const tick = await control.enqueueScheduledRun(input, firing.toISOString());
  setCurrentDetails(tick.runId === null ? tick.outcome : `${tick.outcome}: \`${tick.runId}\``);
  return tick;
}
