/** The counterpart of `workflows/sealed-inputs.ts`: an activity begins only with inputs that are sealed for it. */
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { argsOf } from '../../workflows/bound-inputs.ts';
import { idsOf } from '../../workflows/input-ids.ts';
import { idsOfWork, type WorkIds, workOf } from '../core/work-ids.ts';

/** The worker's SDK logs the failure; the work carries the ids of its input. */
export const sealedInputs: ActivityInterceptorsFactory = ({ info: { activityType, workflowExecution } }) => ({
  inbound: {
    async execute(input, next) {
      const args = sealedArgs(activityType, workflowExecution?.workflowId, input.args);
      return await workOf(idsOf(args[0]), () => next({ ...input, args: [...args] }));
    },
  },
});

/** The last interceptor: adds the ids of the work to the SDK's log lines of an activity. */
export const activityIds: ActivityInterceptorsFactory = () => {
  let ids: WorkIds = {};
  return {
    inbound: {
      async execute(input, next) {
        ids = idsOfWork();
        return await next(input);
      },
    },
    outbound: { getLogAttributes: (attributes, next) => next({ ...attributes, ...ids }) },
  };
};

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
