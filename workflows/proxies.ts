/** A canceled workflow waits for its activity to end: with the SDK's real default, a "canceled" run continues to deliver. */
import type { ActivityOptions } from '@temporalio/common';
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { controlQueue } from './contract.ts';

const cancellationType = 'WAIT_CANCELLATION_COMPLETED';

export const proxy = (options: ActivityOptions) => proxyActivities<Activities>({ ...options, cancellationType });

/** Bookkeeping is one small transaction; it is retried until the database is back. */
export const control = proxy({
  taskQueue: controlQueue,
  startToCloseTimeout: '10s',
  retry: { initialInterval: '300ms', backoffCoefficient: 2, maximumInterval: '10s' },
});

/**
 * The first step of a run, within seconds so that a cancel and the workflow slot need not wait for it. It is never retried
 * here: the activity on the queue takes over.
 */
export const here = proxyLocalActivities<Activities>({
  startToCloseTimeout: '15s',
  cancellationType,
  retry: { maximumAttempts: 1 },
});
