import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly service: string;
  /** What the spans of its process have in common. */
  readonly resource: Readonly<Record<string, unknown>>;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it is the first of its trace. */
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A collector of OpenTelemetry that keeps what it receives in memory. */
export interface TraceCollector extends AsyncDisposable {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT, with OTEL_EXPORTER_OTLP_PROTOCOL=http/json. */
  readonly endpoint: string;
  readonly spans: readonly ReceivedSpan[];
  /** Everything that was sent, as text. */
  text(): string;
}

interface ExportedSpans {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

interface ExportedSpan extends Pick<ReceivedSpan, 'name' | 'traceId' | 'spanId'> {
  readonly parentSpanId?: string;
  readonly attributes: Attributes;
}

type Attributes = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];

/** Starts it on a free port of loopback. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const bodies: string[] = [];
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => (body += part));
    request.on('end', () => {
      bodies.push(body);
      spans.push(...spansOf(JSON.parse(body) as ExportedSpans));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    text: () => bodies.join('\n'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const spansOf = ({ resourceSpans }: ExportedSpans): readonly ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap((scope) => scope.spans)
      .map(({ name, traceId, spanId, parentSpanId = '', attributes }) => ({
        service: String(valuesOf(resource.attributes)['service.name']),
        resource: valuesOf(resource.attributes),
        name,
        traceId,
        spanId,
        parentSpanId,
        attributes: valuesOf(attributes),
      })),
  );

const valuesOf = (attributes: Attributes): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
