import { keyedOperations } from './api.gen.ts';
import { ApiError, NetworkError } from './errors.ts';
import type { RequestOptions } from './operations.ts';
import { type RetryOptions, retryDelayMs, sleep } from './retry.ts';
import { webCrypto } from './web-crypto.ts';

/** Where the service is, and how it is called. */
export interface ClientOptions {
  /** Origin of the service, such as `https://sync.example.com`, with the path below which it is served if any. */
  readonly url: string;
  /** `ck_…`, or a function that gives it for each attempt. */
  readonly apiKey: string | (() => string | Promise<string>);
  readonly retry?: RetryOptions;
  /** Ends an attempt whose response is not complete by then, ms. 60,000 unless given: a spec with tests takes up to 30 s. */
  readonly timeoutMs?: number;
  /** Instead of the global `fetch`, for proxies and tests. */
  readonly fetch?: typeof fetch;
}

/** A request before it has an address. */
export interface RequestParts extends RequestOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** A text is sent as YAML. */
  readonly body?: unknown;
}

/** Methods that do the same whether they are sent once or twice. */
const idempotentMethods: ReadonlySet<string> = new Set(['GET', 'PUT', 'DELETE']);

/**
 * Sends a request until it succeeds or there is nothing left to try; what `read` makes of the response. Throws
 * {@link ApiError}, {@link NetworkError}, or the reason of the signal.
 */
export async function send<Result>(
  client: ClientOptions,
  operation: string,
  parts: RequestParts,
  read: (response: Response) => Promise<Result>,
): Promise<Result> {
  const [method = '', path = ''] = operation.split(' ');
  const keyed = keyedOperations.has(operation);
  const headers = headersOf(parts, keyed ? (parts.idempotencyKey ?? (await newKey())) : null);
  const request = { method, url: addressOf(client.url, path, parts), headers, parts, read };
  const repeatable = keyed || idempotentMethods.has(method);
  for (let attempt = 1; ; attempt += 1) {
    const sent = await attemptOnce(client, request);
    if ('result' in sent) return sent.result;
    const delayMs = retryDelayMs(sent.outcome, { attempt, repeatable }, client.retry ?? {});
    if (delayMs !== null) await sleep(delayMs, parts.signal);
    else if (sent.outcome === null) throw new NetworkError(operation, attempt, sent.cause);
    else throw new ApiError(operation, sent.outcome, sent.text);
  }
}

interface Request<Result> {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: RequestParts;
  readonly read: (response: Response) => Promise<Result>;
}

type Sent<Result> =
  | { readonly outcome: Response; readonly result: Result }
  | { readonly outcome: Response; readonly text: string }
  | { readonly outcome: null; readonly cause: unknown };

/** One attempt, read to its end. Throws the reason of the caller's signal. */
async function attemptOnce<Result>(client: ClientOptions, request: Request<Result>): Promise<Sent<Result>> {
  const { method, url, headers, parts, read } = request;
  const { signal, body } = parts;
  signal?.throwIfAborted();
  const { apiKey, timeoutMs = 60_000 } = client;
  const authorization = `Bearer ${typeof apiKey === 'string' ? apiKey : await apiKey()}`;
  const ending = new AbortController();
  const stop = () => ending.abort(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(() => ending.abort(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
  try {
    const outcome = await (client.fetch ?? fetch)(url, {
      method,
      headers: { ...headers, authorization },
      signal: ending.signal,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return outcome.ok ? { outcome, result: await read(outcome) } : { outcome, text: await outcome.text() };
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    return { outcome: null, cause: ending.signal.aborted ? ending.signal.reason : causeOf(error) };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** What is behind the `fetch failed` of Node. */
const causeOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? error.cause : error;

function headersOf({ body, requestId }: RequestParts, key: string | null): Readonly<Record<string, string>> {
  return {
    accept: 'application/json',
    ...(body === undefined
      ? {}
      : { 'content-type': typeof body === 'string' ? 'application/yaml' : 'application/json' }),
    ...(key === null ? {} : { 'idempotency-key': key }),
    ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
  };
}

function addressOf(base: string, path: string, { params = {}, query = {} }: RequestParts): string {
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const value = params[name];
    if (!value) throw new TypeError(`${path} needs params.${name}, which is ${value === '' ? 'empty' : 'missing'}.`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, value);
  const text = search.toString();
  return `${base.replace(/\/+$/, '')}/api/v1${filled}${text === '' ? '' : `?${text}`}`;
}

/** Throws for a URL that no request could reach, before one is tried and retried. */
export function assertServiceUrl(url: string): void {
  // The base of a page or of a proxy may have any path, but not that of the API itself.
  if (/^https?:\/\/[^/?#]+[^?#]*$/.test(url) && !/\/api(\/v1)?\/*$/.test(url)) return;
  throw new TypeError(`url is where the service is, such as https://sync.example.com, without /api/v1; it is ${url}.`);
}

/** 128 random bits. */
async function newKey(): Promise<string> {
  const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
