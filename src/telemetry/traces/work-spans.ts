/** Puts the ids of the service on spans, and the trace id on log lines. */
import { type Attributes, trace } from '@opentelemetry/api';
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { searchAttributes } from '../../../workflows/contract.ts';
import { idsOfWork, type WorkIds, workOf } from '../../core/work-ids.ts';

export const workAttributeNames = {
  orgId: 'connector_sync.org_id',
  connectionId: 'connector_sync.connection_id',
  resourceKey: 'connector_sync.resource_key',
  runId: 'connector_sync.run_id',
  scheduleId: 'connector_sync.schedule_id',
  endpointId: 'connector_sync.endpoint_id',
} as const satisfies Partial<Record<keyof WorkIds, string>>;

const idNames = Object.keys(workAttributeNames) as (keyof typeof workAttributeNames)[];

const named = (valueOf: (name: keyof typeof workAttributeNames) => unknown): Attributes =>
  Object.fromEntries(
    idNames.flatMap((name) => {
      const value = valueOf(name);
      return typeof value === 'string' ? [[workAttributeNames[name], value]] : [];
    }),
  );

export const workAttributes = (): Attributes => {
  const ids = idsOfWork();
  return named((name) => ids[name]);
};

export const workSpans: SpanProcessor = {
  onStart: (span) => void span.setAttributes(workAttributes()),
  onEnd: () => undefined,
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
};

export function workflowAttributes(attributes: Readonly<Record<string, unknown>>): Attributes {
  const known = new Map(Object.entries(Object(attributes['searchAttributes'])));
  return named((name) => {
    const values: unknown = name in searchAttributes ? known.get(Reflect.get(searchAttributes, name)) : undefined;
    return Array.isArray(values) ? values[0] : undefined;
  });
}

/** Follows the interceptor that begins the span of an activity: its work carries the trace. */
export const inTrace: ActivityInboundCallsInterceptor = {
  execute: (input, next) => workOf({ traceId: trace.getActiveSpan()?.spanContext().traceId }, () => next(input)),
};
