/** The least that Temporal can do for something that a worker does: a workflow of one empty activity. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';

interface FloorActivities {
  nothing(): Promise<void>;
}

const { nothing } = proxyActivities<FloorActivities>({ startToCloseTimeout: '10s' });
const local = proxyLocalActivities<FloorActivities>({ startToCloseTimeout: '10s' });

/** One activity. */
export async function oneActivity(): Promise<void> {
  await nothing();
}

/** One local activity, which takes no task of its own. */
export async function oneLocalActivity(): Promise<void> {
  await local.nothing();
}
