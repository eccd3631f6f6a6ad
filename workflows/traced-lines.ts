/** Adds the trace id to the log lines of a workflow, after the interceptors that begin its span. */
import { trace } from '@opentelemetry/api';
import type { WorkflowInterceptors } from '@temporalio/workflow';

export const interceptors = (): WorkflowInterceptors => {
  let traceId: string | undefined;
  return {
    inbound: [
      {
        async execute(input, next) {
          traceId = trace.getActiveSpan()?.spanContext().traceId;
          return await next(input);
        },
      },
    ],
    outbound: [{ getLogAttributes: (attributes, next) => next({ ...attributes, traceId }) }],
  };
};
