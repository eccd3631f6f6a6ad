/** The other end of `workflows/sealed-inputs.ts`: an activity begins only with inputs that are sealed for it. */
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { argsOf } from '../../workflows/bound-inputs.ts';

/** Refuses all other inputs before anything is done. The worker's SDK logs the failure. */
export const sealedInputs: ActivityInterceptorsFactory = ({ info: { activityType, workflowExecution } }) => ({
  inbound: {
    async execute(input, next) {
      return await next({ ...input, args: [...sealedArgs(activityType, workflowExecution?.workflowId, input.args)] });
    },
  },
});

function sealedArgs(activity: string, workflowId = '', args: readonly unknown[]): readonly unknown[] {
  try {
    return argsOf(activity, workflowId, args);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw ApplicationFailure.nonRetryable(
      `The input of activity ${activity} was refused. ${reason} Nothing was done: only workflows of the service start it.`,
      'internal',
    );
  }
}
