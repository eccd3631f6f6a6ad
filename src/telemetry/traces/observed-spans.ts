import { type Attributes, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { observations } from '../../core/observations.ts';

/** Makes a span for each published request, batch and event, at its end; none outside the span of an activity or request. */
export function traceObservations(tracer: Tracer): () => void {
  const record = (name: string, { durationMs, attributes, failed }: EndedSpan): void => {
    if (!trace.getActiveSpan()) return;
    const endTime = Date.now();
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime: endTime - durationMs, attributes });
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endTime);
  };
  const ends = [
    observations.upstreamCalled.subscribe(({ method, statusCode, errorCode, cacheHit, attempt, durationMs }) =>
      record(`upstream ${method}`, {
        durationMs,
        failed: errorCode !== null || (statusCode ?? 0) >= 400,
        attributes: {
          'http.request.method': method,
          'connector_sync.cache_hit': cacheHit,
          ...(attempt > 1 ? { 'http.request.resend_count': attempt - 1 } : {}),
          ...(statusCode === null ? {} : { 'http.response.status_code': statusCode }),
          ...(errorCode === null ? {} : { 'error.type': errorCode }),
        },
      }),
    ),
    observations.batchApplied.subscribe(({ kind, rows, tombstones, durationMs, failed }) =>
      record(`deliver ${kind}`, {
        durationMs,
        failed,
        attributes: {
          'connector_sync.destination': kind,
          'connector_sync.rows': rows,
          'connector_sync.tombstones': tombstones,
        },
      }),
    ),
    observations.eventSent.subscribe(({ result, statusCode, durationMs }) =>
      record('send event', {
        durationMs,
        failed: result !== 'delivered',
        attributes: {
          'connector_sync.result': result,
          ...(statusCode === null ? {} : { 'http.response.status_code': statusCode }),
        },
      }),
    ),
  ];
  return () => {
    for (const end of ends) end();
  };
}

interface EndedSpan {
  readonly durationMs: number;
  readonly failed: boolean;
  readonly attributes: Attributes;
}
