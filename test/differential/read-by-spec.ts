import type { Evaluator } from '../../src/core/expressions/evaluation.ts';
import { createMemoryLookups } from '../../src/core/memory-run/memory-lookups.ts';
import { runInMemory } from '../../src/core/memory-run/memory-run.ts';
import type { HttpClient, HttpRequest } from '../../src/core/model/http.ts';
import { decodeAtOnce } from '../../src/core/source/decode/decode-turns.ts';
import type { Source } from '../../src/core/source/source.ts';
import { findResource } from '../../src/core/spec/connection/find-resource.ts';
import type { ConnectorSpec, Resource } from '../../src/core/spec/schema/spec-schema.ts';
import type { AskedRequest } from './mock-api.ts';

/** Responds to a request. */
type Respond = (request: AskedRequest) => {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
};

/** What a read has sent and delivered. */
export interface Read {
  readonly requests: readonly { readonly method: string; readonly url: string; readonly body: string | null }[];
  readonly records: readonly unknown[];
  readonly error: string | null;
}

interface ReadOptions {
  /** Values of the connection by the key of their param. */
  readonly values: ReadonlyMap<string, unknown>;
  readonly respond: Respond;
  readonly now: Date;
  readonly evaluator: Evaluator;
}

const runId = 'run_differential';

/** Reads one resource of an imported spec from the mock API, from its beginning. Nothing is signed. */
export async function readBySpec(spec: ConnectorSpec, key: string, options: ReadOptions): Promise<Read> {
  const { evaluator, now } = options;
  const requests: Read['requests'][number][] = [];
  const client = createClient(options.respond, requests, now);
  const params = given(spec, options.values, false);
  const secrets = given(spec, options.values, true);
  const openSource = async (resource: Resource): Promise<Omit<Source, 'watermark'>> => ({
    resource,
    http: { ...spec.http, rateLimit: { ...spec.http.rateLimit, maxConcurrent: 1 } },
    auth: { kind: 'none' },
    specChecksum: 'sha256:differential',
    params,
    secrets,
    lookups: {},
    each: {},
    run: { id: runId, startedAt: now.toISOString(), mode: 'incremental' },
    backfill: null,
    validators: null,
    responses: null,
    decodeTurns: decodeAtOnce,
    evaluator,
    mask: () => undefined,
    now: () => now,
    tokens: null,
    client,
  });
  const context = { runId, spec, params, now, evaluator, lookups: createMemoryLookups(), openSource };
  const bounds = { redact: (text: string) => text, recordsMax: Number.POSITIVE_INFINITY, wait: async () => undefined };
  try {
    const run = await runInMemory(
      { ...context, ...bounds, signal: AbortSignal.timeout(60_000) },
      { resource: findResource(spec, key), start: { watermark: null, known: [] } },
    );
    const quarantined = run.quarantined.length > 0 ? `${run.quarantined.length} records are quarantined` : null;
    return { requests, records: run.delivered, error: run.failure?.message ?? quarantined };
  } catch (error) {
    return { requests, records: [], error: error instanceof Error ? error.message : 'unknown' };
  }
}

const given = (
  spec: ConnectorSpec,
  values: ReadonlyMap<string, unknown>,
  secret: boolean,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    spec.connectionParams
      .filter((param) => param.secret === secret)
      .map((param) => [param.key, values.get(param.key) ?? param.default])
      .filter(([, value]) => value !== undefined),
  );

/** More requests than this are a read without end. */
const requestsMax = 2_000;

/** A client whose every response comes from the mock, and that never repeats a request. */
function createClient(respond: Respond, requests: Read['requests'][number][], now: Date): HttpClient {
  const responseTo = (request: HttpRequest) => {
    const { method, url, headers, body } = request;
    requests.push({ method, url: url.href, body: body ?? null });
    if (requests.length > requestsMax) throw new Error('more requests than the comparison allows');
    const response = respond({ method, url, headers, body: body ?? '' });
    return {
      status: response.status,
      url,
      headers: { date: now.toUTCString(), ...response.headers },
      body: typeof response.body === 'string' ? new TextEncoder().encode(response.body) : response.body,
    };
  };
  return {
    send: async (request, { classify }) => {
      const response = responseTo(request);
      const verdict = (await classify?.(response, request)) ?? { action: 'accept' };
      if (verdict.action === 'accept') return verdict.meaning ? { ...response, meaning: verdict.meaning } : response;
      throw verdict.action === 'fail' ? verdict.error : new Error(`the response ${response.status} would be retried`);
    },
    logSaved: async () => undefined,
    logBlocked: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
