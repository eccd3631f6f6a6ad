import type { ReadableSpan, SpanExporter, TimedEvent } from '@opentelemetry/sdk-trace-base';

/** The attributes that a span may have: ids, numbers, and words of a fixed set. No address, name or text of an org. */
const safeAttributes: ReadonlySet<string> = new Set([
  'run_id',
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
 * The exporter without what a library or an error may have put into spans: other attributes (the SDK adds everything it knows
 * about a workflow, its memo included), messages and stacks of errors.
 */
export const onlySafe = (exporter: SpanExporter): SpanExporter => ({
  export: (spans, done) => exporter.export(spans.map(safe), done),
  shutdown: () => exporter.shutdown(),
  forceFlush: async () => exporter.forceFlush?.(),
});

function safe(span: ReadableSpan): ReadableSpan {
  const own = {
    attributes: Object.fromEntries(Object.entries(span.attributes).filter(([name]) => safeAttributes.has(name))),
    events: span.events.map(safeEvent),
    status: { code: span.status.code },
  };
  return Object.create(
    span,
    Object.fromEntries(Object.entries(own).map(([name, value]) => [name, { value, enumerable: true }])),
  );
}

const safeEvent = ({ name, time, attributes }: TimedEvent): TimedEvent => ({
  name,
  time,
  attributes: attributes?.['exception.type'] === undefined ? {} : { 'exception.type': attributes['exception.type'] },
});
