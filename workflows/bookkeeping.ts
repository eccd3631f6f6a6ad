import type { ActivityOptions } from '@temporalio/common';
import { makeContinueAsNewFunc, proxyActivities, proxyLocalActivities, type Workflow } from '@temporalio/workflow';
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

/**
 * The first step of a run, on the worker that has the workflow: it ends within seconds, so that a cancel and the slot of
 * the workflow task do not wait for it. Never retried here: what fails is left to the activity on its queue.
 */
export const here = proxyLocalActivities<Activities>({
  startToCloseTimeout: '15s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry: { maximumAttempts: 1 },
});

/**
 * Restarts the history of a run, and lets it go on on the current build of the workers: a run that waits for days would
 * otherwise keep the build alive that it began on.
 */
export const restartHistory = <F extends Workflow>(...args: Parameters<F>): Promise<never> =>
  makeContinueAsNewFunc<F>({ initialVersioningBehavior: 'AUTO_UPGRADE' })(...args);
