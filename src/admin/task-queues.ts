import type { WorkflowService } from '@temporalio/client';
import { controlQueue, syncQueue, webhookQueue } from '../../workflows/contract.ts';

/** `TASK_QUEUE_TYPE_…` of Temporal's API. */
const [workflowTasks, activityTasks] = [1, 2];

export const taskQueues = [
  { name: controlQueue, type: workflowTasks },
  { name: syncQueue, type: activityTasks },
  { name: webhookQueue, type: activityTasks },
] as const;

/**
 * A worker whose last poll is older has stopped: a poll lasts a minute at most, but Temporal lists pollers for five.
 */
const pollMsMax = 75_000;

export type TaskQueue = (typeof taskQueues)[number];

export interface TaskQueueState {
  /** The build that gets new tasks; `null` if unversioned workers do. */
  readonly current: { readonly deploymentName: string; readonly buildId: string } | null;
  /** `null` for an unversioned worker. */
  readonly polledBy: readonly (string | null)[];
}

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

interface Poller {
  readonly lastAccessTime?: { readonly seconds?: unknown } | null | undefined;
  readonly deploymentOptions?: { readonly buildId?: string | null | undefined } | null | undefined;
}

/** `null` for an unversioned worker. */
export const buildsThatPoll = (pollers: readonly Poller[], nowMs: number): readonly (string | null)[] =>
  pollers
    .filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 > nowMs - pollMsMax)
    .map(({ deploymentOptions }) => deploymentOptions?.buildId || null);
