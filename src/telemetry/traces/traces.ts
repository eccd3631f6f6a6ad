/**
 * OpenTelemetry traces, from an API request over its workflow to the requests and batches of a run. The only room that knows
 * a tracing library, loaded only when the OTEL_* variables ask for it.
 *
 * Customers' APIs never get our `traceparent`: they are strangers, and an id returned by one would link orgs to each other.
 * Spans carry ids, times, statuses and words of a fixed set (safe-spans.ts).
 */
import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { envDetectorSync, Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import type { WorkerOptions } from '@temporalio/worker';
import manifest from '../../../package.json' with { type: 'json' };
import { traceObservations } from './observed-spans.ts';
import { type Fetch, traceRequests } from './request-spans.ts';
import { onlySafe } from './safe-spans.ts';
import { inTrace, workSpans } from './work-spans.ts';

/** Disposing sends the remaining spans. */
export interface Traces extends AsyncDisposable {
  /** Pass the trace on to workflows. */
  readonly clientInterceptors: WorkflowClientInterceptor[];
  /** Activities continue the trace, and spans of workflows leave their isolate. */
  readonly workerOptions: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
  readonly workflowModules: readonly string[];
  readonly traceRequests: <Rest extends unknown[]>(handle: Fetch<Rest>) => Fetch<Rest>;
}

export interface TracesOptions {
  /** Name of the service unless OTEL_SERVICE_NAME gives another one. */
  readonly serviceName: string;
  /** Encoding of spans, from OTEL_EXPORTER_OTLP_PROTOCOL. */
  readonly protocol: 'http/protobuf' | 'http/json';
}

export async function startTraces({ serviceName, protocol }: TracesOptions): Promise<Traces> {
  const resource = new Resource({
    'service.name': serviceName,
    'service.version': manifest.version,
    'service.instance.id': `${hostname()}-${process.pid}`,
  }).merge(envDetectorSync.detect());
  const processor = new BatchSpanProcessor(onlySafe(await openExporter(protocol)));
  const provider = new BasicTracerProvider({ resource, spanProcessors: [workSpans, processor] });
  const contextManager = new AsyncLocalStorageContextManager().enable();
  // The only standard propagator used: baggage could carry anything.
  provider.register({ contextManager, propagator: new W3CTraceContextPropagator() });
  const tracer = trace.getTracer('connector-sync');
  const end = traceObservations(tracer);
  return {
    clientInterceptors: [new OpenTelemetryWorkflowClientInterceptor()],
    workerOptions: {
      interceptors: {
        activity: [
          (context) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(context) }),
          () => ({ inbound: inTrace }),
        ],
      },
      sinks: { exporter: makeWorkflowExporter(processor, resource) },
    },
    workflowModules,
    traceRequests: (handle) => traceRequests(tracer, handle),
    async [Symbol.asyncDispose]() {
      end();
      // A collector that is away must not keep a process from ending.
      await provider.shutdown().catch(() => undefined);
    },
  };
}

export const workflowModules: readonly string[] = [
  createRequire(import.meta.url).resolve('@temporalio/interceptors-opentelemetry/lib/workflow-interceptors'),
  fileURLToPath(new URL('../../../workflows/traced-lines.ts', import.meta.url)),
];

async function openExporter(protocol: TracesOptions['protocol']): Promise<SpanExporter> {
  if (protocol === 'http/json') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
    return new OTLPTraceExporter();
  }
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}
