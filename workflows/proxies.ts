/**
 * How workflows call activities. Each call of a canceled workflow waits for its activity to end: with the SDK's real default,
 * a "canceled" run continues to deliver.
 */
import type { ActivityOptions } from '@temporalio/common';
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { controlQueue } from './contract.ts';

const cancellationType = 'WAIT_CANCELLATION_COMPLETED';

/** The activities on a queue, with these options. No workflow proxies them in another way. */
export const proxy = (options: ActivityOptions) => proxyActivities<Activities>({ ...options, cancellationType });

/** Bookkeeping is one small transaction: try until the database is back. */
export const control = proxy({
  taskQueue: controlQueue,
  startToCloseTimeout: '10s',
  retry: { initialInterval: '300ms', backoffCoefficient: 2, maximumInterval: '10s' },
});

/**
 * The first step of a run, on the worker that has the workflow: it ends within seconds, so that a cancel and the slot of
 * the workflow task do not wait for it. Never retried here: what fails is left to the activity on its queue.
 */
export const here = proxyLocalActivities<Activities>({
  startToCloseTimeout: '15s',
  cancellationType,
  retry: { maximumAttempts: 1 },
});
