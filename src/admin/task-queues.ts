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

/**
 * The milliseconds since its last poll after which a worker is gone: a poll lasts for a minute at most, and the next one follows.
 * Temporal lists pollers for five.
 */
const pollMsMax = 75_000;

/** One of {@link taskQueues}. */
export type TaskQueue = (typeof taskQueues)[number];

/** What Temporal knows of a task queue. */
export interface TaskQueueState {
  /** The build that gets its new tasks; null: unversioned workers do. */
  readonly current: { readonly deploymentName: string; readonly buildId: string } | null;
  /** The builds of the workers that poll it; null: an unversioned worker does. */
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
    polledBy: buildsThatPoll(pollers ?? [], Date.now()),
  };
}

/** A worker as Temporal lists it. */
interface Poller {
  readonly lastAccessTime?: { readonly seconds?: unknown } | null | undefined;
  readonly deploymentOptions?: { readonly buildId?: string | null | undefined } | null | undefined;
}

/** The builds of the workers among them that poll at that time, in milliseconds since the epoch; null: an unversioned one does. */
export const buildsThatPoll = (pollers: readonly Poller[], nowMs: number): readonly (string | null)[] =>
  pollers
    .filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 > nowMs - pollMsMax)
    .map(({ deploymentOptions }) => deploymentOptions?.buildId || null);
