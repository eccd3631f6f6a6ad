/**
 * A firing before {@link scheduledRun}: another workflow executes the run. It remains for schedules that Temporal still has
 * in their old form.
 */
import { setCurrentDetails } from '@temporalio/workflow';
import type { FiringOutcome, ScheduledTickInput } from './contract.ts';
import { control } from './proxies.ts';
import { firingTime } from './scheduled-run.ts';

export async function scheduledTick(input: ScheduledTickInput): Promise<FiringOutcome> {
  const fired = await control.enqueueScheduledRun(input, firingTime());
  setCurrentDetails(fired.runId === null ? fired.outcome : `${fired.outcome}: \`${fired.runId}\``);
  return fired;
}
