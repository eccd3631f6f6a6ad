import type { WorkflowService } from '@temporalio/client';
import { controlQueue, syncQueue, webhookQueue } from '../../workflows/contract.ts';

/** `TASK_QUEUE_TYPE_…` of Temporal's API. */
const [workflowTasks, activityTasks] = [1, 2];

/** The queues that workers poll, each with the type of its tasks. */
export const taskQueues = [
  { name: controlQueue, type: workflowTasks },
  { name: syncQueue, type: activityTasks },
  { name: webhookQueue, type: activityTasks },
] as const;

/** One of {@link taskQueues}. */
export type TaskQueue = (typeof taskQueues)[number];

/** What Temporal knows of a task queue. */
export interface TaskQueueState {
  /** The build that gets its new tasks; null: unversioned workers do. */
  readonly current: { readonly deploymentName: string; readonly buildId: string } | null;
  /** The builds of the workers that have polled it in the last minutes; null: an unversioned worker has. */
  readonly polledBy: readonly (string | null)[];
}

/** Asks Temporal for the state of a task queue. */
export async function describeTaskQueue(
  service: WorkflowService,
  namespace: string,
  { name, type }: TaskQueue,
): Promise<TaskQueueState> {
  const request = { namespace, taskQueue: { name }, taskQueueType: type };
  const { pollers, versioningInfo } = await service.describeTaskQueue(request);
  const { deploymentName, buildId } = versioningInfo?.currentDeploymentVersion ?? {};
  return {
    current: deploymentName && buildId ? { deploymentName, buildId } : null,
    polledBy: (pollers ?? []).map(({ deploymentOptions }) => deploymentOptions?.buildId || null),
  };
}
