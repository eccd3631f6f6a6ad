import type { AppError } from '../errors.ts';
import type { RateLimit } from '../spec/schema/http-schema.ts';
import type { HeldMemory } from './response-memory.ts';

/** One logical request to a customer's system; the client handles retries and redirects. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For one attempt, request and body together. */
  readonly timeoutMs: number;
  /** Time to the header of the response, by default `timeoutMs` less the body's share. */
  readonly headersTimeoutMs?: number;
  /** Decoded bytes. */
  readonly responseBytesMax: number;
  /** Hosts that a redirect may lead to besides the request's own origin: exact or `*.host`. */
  readonly allowedHosts: readonly string[];
  /** A second, narrower bucket besides that of the API. */
  readonly rateLimit?: NamedRateLimit;
}

/** The bucket of one kind of request. */
export interface NamedRateLimit extends RateLimit {
  readonly name: string;
}

/** The final response of a request: any status that is not retried. */
export interface HttpResponse {
  /** Absent if it is the page that was requested. */
  readonly meaning?: Meaning;
  readonly status: number;
  /** Names in lower case; repeated headers are joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded body. */
  readonly body: Uint8Array;
  /** Counted memory of the body; the reader releases it. */
  readonly held?: HeldMemory;
  /** After redirects. */
  readonly url: URL;
}

/** Sends requests to one connection's API. Throws `AppError` or {@link ThrottledError}. */
export interface HttpClient extends AsyncDisposable {
  send(request: HttpRequest, options: SendOptions): Promise<HttpResponse>;
  /** Logs a request whose response came from a cache. */
  logSaved(request: HttpRequest): Promise<void>;
  /** Logs a request that was not sent because its address was refused. */
  logBlocked(method: HttpRequest['method'], url: URL): Promise<void>;
}

/** Options for sending one request. */
export interface SendOptions {
  readonly signal: AbortSignal;
  /** Adds the credentials; absent if the request is complete. */
  readonly signer?: RequestSigner;
  /** By status unless given. */
  readonly classify?: Classify;
  /**
   * Called with each response, including redirects and those to be retried. Logging and checks wait for the promise,
   * which must not reject.
   */
  readonly onResponse?: ((response: HttpResponse) => Promise<void>) | undefined;
}

/** An accepted response other than the requested page. */
export type Meaning =
  /** A 304, or a rule with action `empty`. */
  | { readonly kind: 'empty'; readonly notModified: boolean }
  /** A rule with action `skip_partition`; `reason` is safe to show. */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** The API no longer knows the page's token, or the token at which a token read starts. */
  | { readonly kind: 'expired'; readonly what: 'page' | 'watermark' }
  /** The page is too large for the API; `pagination.shrink` requests a smaller one. */
  | { readonly kind: 'too_large' }
  /** The page is after the last one; `isCertain` if the status can mean nothing else. */
  | { readonly kind: 'past_end'; readonly isCertain: boolean };

/** A request that got no response. */
export interface NoResponse {
  readonly status: null;
  readonly failure: 'network' | 'timeout';
}

/** Classifies the result of a request; without a response it must not accept. */
export type Classify = (response: HttpResponse | NoResponse, request: HttpRequest) => Promise<Verdict>;

/** Adds credentials to one logical request. */
export interface RequestSigner {
  /** Called for each attempt after its wait, so that no token or timestamp is older than the attempt. */
  sign(request: HttpRequest): Promise<HttpRequest>;
  /** Replaces the credentials of the last attempt, which the API refused. */
  refresh(): Promise<void>;
}

/** The consequence of a response for its request. */
export type Verdict =
  | { readonly action: 'accept'; readonly meaning?: Meaning }
  | { readonly action: 'retry' }
  /** `waitMs` wins over a `Retry-After` header; without both, the wait is a backoff. */
  | { readonly action: 'rate_limited'; readonly waitMs?: number }
  /** The credentials may be outdated: they are refreshed once and the request is sent again; then `error` is final. */
  | { readonly action: 'refresh'; readonly error: AppError }
  | { readonly action: 'fail'; readonly error: AppError };
