/**
 * Refuses inputs that the service did not seal for a workflow before its first step, and binds arguments to their activity. A
 * refused signal is only ignored, since its sender could otherwise end the workflow.
 */
import { ApplicationFailure } from '@temporalio/common';
import { log, type WorkflowInterceptors, workflowInfo } from '@temporalio/workflow';
import { boundArgs, startArgsOf, whyAnyRefused, whyNoResult } from './bound-inputs.ts';
import { idsOf } from './input-ids.ts';

export const interceptors = (): WorkflowInterceptors => {
  let ids: ReturnType<typeof idsOf> = {};
  return {
    inbound: [
      {
        async execute(input, next) {
          const { workflowType, workflowId } = workflowInfo();
          const args = sealedArgs(workflowType, workflowId, input.args);
          ids = idsOf(args[0]);
          return await next({ ...input, args });
        },
        async handleSignal(input, next) {
          const reason = whyAnyRefused(input.args);
          if (reason === null) return await next(input);
          log.warn('signal refused: only the service sends inputs of signals', { signal: input.signalName, reason });
        },
        async handleUpdate(input, next) {
          const reason = whyAnyRefused(input.args);
          if (reason !== null) throw refused(`The input of update ${input.name}`, `${reason} Nothing was done.`);
          return await next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: async (input, next) =>
          resultOf(input.activityType, await next({ ...input, args: boundArgs(input.activityType, input.args) })),
        scheduleLocalActivity: async (input, next) =>
          resultOf(input.activityType, await next({ ...input, args: boundArgs(input.activityType, input.args) })),
        // In log lines, `runId` is the service's run, not Temporal's.
        getLogAttributes: ({ runId, ...attributes }, next) => next({ ...attributes, workflowRunId: runId, ...ids }),
      },
    ],
  };
};

function sealedArgs(type: string, workflowId: string, args: readonly unknown[]): unknown[] {
  try {
    return startArgsOf(type, workflowId, args);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw refused(`The input of workflow ${type}`, `${reason} Nothing was done: only the service starts it.`);
  }
}

function resultOf(activity: string, result: unknown): unknown {
  const reason = whyNoResult(result);
  if (reason !== null) throw refused(`The result of activity ${activity}`, `${reason} Its workflow ends with this.`);
  return result;
}

const refused = (what: string, reason: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(`${what} was refused. ${reason}`, 'internal');
