import {
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { observations } from '../../core/observations.ts';
import { workOf } from '../../core/work-ids.ts';
import { workAttributes } from './work-spans.ts';

export type Fetch<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Response | Promise<Response>;

/** Probes come every second and lead to nothing. */
const probes = '/api/health';

/** Handles each request in a span, which continues the trace of the caller. */
export function traceRequests<Rest extends unknown[]>(tracer: Tracer, handle: Fetch<Rest>): Fetch<Rest> {
  // Published within the request, by the app that knows the route.
  observations.requestServed.subscribe(({ method, route }) => {
    trace
      .getActiveSpan()
      ?.updateName(`${method} ${route}`)
      .setAttributes({ 'http.route': route, ...workAttributes() });
  });
  return (request, ...rest) => {
    if (new URL(request.url).pathname.startsWith(probes)) return handle(request, ...rest);
    const { method } = request;
    const caller = propagation.extract(ROOT_CONTEXT, request.headers, headersGetter);
    const options = { kind: SpanKind.SERVER, attributes: { 'http.request.method': method } };
    return tracer.startActiveSpan(method, options, caller, async (span) => {
      try {
        const response = await workOf({ traceId: span.spanContext().traceId }, () => handle(request, ...rest));
        span.setAttribute('http.response.status_code', response.status);
        if (response.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        return response;
      } finally {
        span.end();
      }
    });
  };
}

const headersGetter: TextMapGetter<Headers> = {
  get: (headers, name) => headers.get(name) ?? undefined,
  keys: (headers) => [...headers.keys()],
};
