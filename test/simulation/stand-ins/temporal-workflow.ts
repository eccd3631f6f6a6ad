/** Stands in for `@temporalio/workflow` in workflows that are simulated. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { ActivityFailure, type ActivityOptions, CancelledFailure, type LocalActivityOptions } from '@temporalio/common';
import { currentScheduler, currentServer } from '../current.ts';
import { Continued, currentExecution, msOf, type TaskOptions } from '../temporal-tasks.ts';

export { ActivityFailure, ApplicationFailure, CancelledFailure } from '@temporalio/common';
export { Continued as ContinueAsNew } from '../temporal-tasks.ts';

const shields = new AsyncLocalStorage<boolean>();

/** The scope of a workflow; what is not cancellable is not notified of a cancel. */
export const CancellationScope = {
  current: () => ({ consideredCancelled: currentExecution().isCanceled }),
  nonCancellable: <Result>(work: () => Promise<Result>): Promise<Result> => shields.run(true, work),
};

export const isCancellation = (error: unknown): boolean =>
  error instanceof CancelledFailure || (error instanceof ActivityFailure && error.cause instanceof CancelledFailure);

export const defineSignal = (name: string): string => name;
export const defineQuery = (name: string): string => name;
export const setCurrentDetails = (): void => {};
export const upsertSearchAttributes = (): void => {};

export function setHandler(name: string, handle: (...args: readonly unknown[]) => void): void {
  currentExecution().handlers.set(name, handle);
}

export const workflowInfo = () => ({
  continueAsNewSuggested: currentScheduler().random.chance(0.05),
  typedSearchAttributes: { get: () => undefined },
});

export async function continueAsNew(...args: readonly unknown[]): Promise<never> {
  throw new Continued(args);
}

/** The options are about builds of workers, of which there is one here. */
export const makeContinueAsNewFunc = (_options: unknown) => continueAsNew;

/** Resolves with true when it holds, with false after the time. */
export function condition(holds: () => boolean, timeout: string | number): Promise<boolean> {
  const execution = currentExecution();
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      execution.waits.delete(wait);
      planned.cancel();
      settle();
    };
    const wait = {
      look: () => holds() && end(() => resolve(true)),
      cancel: (reason: Error) => end(() => reject(reason)),
    };
    const planned = currentScheduler().after(msOf(timeout), () => execution.isOpen && end(() => resolve(false)));
    execution.waits.add(wait);
    if (execution.isCanceled) wait.cancel(new CancelledFailure('Workflow canceled'));
    else wait.look();
  });
}

export const sleep = async (ms: number): Promise<void> => void (await condition(() => false, ms));

interface Proxied {
  (...args: readonly unknown[]): Promise<unknown>;
  executeWithOptions(options: ActivityOptions, args: readonly unknown[]): Promise<unknown>;
}

/** Activities by name, handed to workers. */
export const proxyActivities = (options: ActivityOptions) => proxied({ ...options, isLocal: false });

/** Activities of the worker that has the workflow: one that dies is noticed by the timeout of its task. */
export const proxyLocalActivities = (options: LocalActivityOptions) =>
  proxied({ ...(options as ActivityOptions), heartbeatTimeout: workflowTaskTimeout, isLocal: true });

/** As Temporal sets it by itself. */
const workflowTaskTimeout = '10s';

const proxied = (options: TaskOptions): Readonly<Record<string, Proxied>> =>
  new Proxy(
    {},
    {
      get(_, name: string): Proxied {
        const execute = async (given: TaskOptions, args: readonly unknown[]): Promise<unknown> => {
          if (currentExecution().isCanceled && !shields.getStore()) throw new CancelledFailure('Workflow canceled');
          return await currentServer().schedule(name, args, given);
        };
        return Object.assign((...args: readonly unknown[]) => execute(options, args), {
          executeWithOptions: (given: ActivityOptions, args: readonly unknown[]) =>
            execute({ ...options, ...given }, args),
        });
      },
    },
  );
