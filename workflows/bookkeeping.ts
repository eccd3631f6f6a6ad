import type { ActivityOptions } from '@temporalio/common';
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { controlQueue } from './contract.ts';

/** The workflow waits for a canceled activity: with the SDK's real default, a "canceled" run continues to deliver. */
export const waitForCancellation: ActivityOptions = { cancellationType: 'WAIT_CANCELLATION_COMPLETED' };

/** The activities with these options. No workflow proxies them in another way. */
export const proxy = (options: ActivityOptions) => proxyActivities<Activities>({ ...options, ...waitForCancellation });

/** Bookkeeping is one small transaction: try until the database is back. */
export const control = proxy({
  taskQueue: controlQueue,
  startToCloseTimeout: '10s',
  retry: { initialInterval: '300ms', backoffCoefficient: 2, maximumInterval: '10s' },
});
