/**
 * One firing of a schedule as it was before {@link scheduledRun}: it only creates the run's row, and another workflow
 * executes the run. It stays for schedules that Temporal has not yet in their new form.
 */
import { setCurrentDetails } from '@temporalio/workflow';
import type { FiringOutcome, ScheduledTickInput } from './contract.ts';
import { control } from './proxies.ts';
import { firingTime } from './scheduled-run.ts';

/** Creates the run of a firing, or returns why there is none. */
export async function scheduledTick(input: ScheduledTickInput): Promise<FiringOutcome> {
  const fired = await control.enqueueScheduledRun(input, firingTime());
  setCurrentDetails(fired.runId === null ? fired.outcome : `${fired.outcome}: \`${fired.runId}\``);
  return fired;
}
