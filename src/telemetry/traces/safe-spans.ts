import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter, TimedEvent } from '@opentelemetry/sdk-trace-base';
import { workAttributeNames, workflowAttributes } from './work-spans.ts';

/** Ids, numbers, and words of a fixed set: no address, name or text of an org. */
const safeAttributes: ReadonlySet<string> = new Set([
  ...Object.values(workAttributeNames),
  'temporalWorkflowId',
  'temporalActivityId',
  'http.request.method',
  'http.response.status_code',
  'http.request.resend_count',
  'http.route',
  'error.type',
  'connector_sync.cache_hit',
  'connector_sync.destination',
  'connector_sync.rows',
  'connector_sync.tombstones',
  'connector_sync.result',
]);

/**
 * Removes other attributes, and messages and stacks of errors. The SDK adds everything it knows about a workflow, its memo
 * included.
 */
export const onlySafe = (exporter: SpanExporter): SpanExporter => ({
  export: (spans, done) => exporter.export(spans.map(safe), done),
  shutdown: () => exporter.shutdown(),
  forceFlush: async () => exporter.forceFlush?.(),
});

function safe(span: ReadableSpan): ReadableSpan {
  const own = {
    attributes: safeOf(span.attributes),
    events: span.events.map(safeEvent),
    status: { code: span.status.code },
  };
  return Object.create(
    span,
    Object.fromEntries(Object.entries(own).map(([name, value]) => [name, { value, enumerable: true }])),
  );
}

/** Extracts a workflow's ids from the SDK's attributes, where `run_id` is an execution of a workflow. */
function safeOf({ run_id: temporalRunId, ...attributes }: Attributes): Attributes {
  const safeOnes = Object.entries(attributes).filter(([name]) => safeAttributes.has(name));
  return {
    ...(temporalRunId === undefined ? {} : { temporalRunId }),
    ...workflowAttributes(attributes),
    ...Object.fromEntries(safeOnes),
  };
}

const safeEvent = ({ name, time, attributes }: TimedEvent): TimedEvent => ({
  name,
  time,
  attributes: attributes?.['exception.type'] === undefined ? {} : { 'exception.type': attributes['exception.type'] },
});
