/** The interceptors of a traced workflow, behind those that begin its span: its lines have the id of the trace. */
import { trace } from '@opentelemetry/api';
import type { WorkflowInterceptors } from '@temporalio/workflow';

/** The interceptors of one workflow. */
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
