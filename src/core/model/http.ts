import type { AppError } from '../errors.ts';
import type { RateLimit } from '../spec/schema/http-schema.ts';
import type { HeldMemory } from './response-memory.ts';

/** One logical request to a customer's system; retries and redirects happen inside the client. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** The headers, their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds for one attempt, request and body together. */
  readonly timeoutMs: number;
  /** Milliseconds to the header of the response; `timeoutMs` less the body's share unless given. */
  readonly headersTimeoutMs?: number;
  /** Decoded bytes. */
  readonly responseBytesMax: number;
  /** Hosts a redirect may lead to besides the request's own origin: exact or `*.host`. */
  readonly allowedHosts: readonly string[];
  /** A second, narrower bucket besides the API's; absent: none. */
  readonly rateLimit?: NamedRateLimit;
}

/** The bucket of one kind of request. */
export interface NamedRateLimit extends RateLimit {
  /** The name of the bucket, the same for all requests that share it. */
  readonly name: string;
}

/** The final response of a request: any status that is not retried. */
export interface HttpResponse {
  /** What it means for the page that was requested; absent: it is that page. */
  readonly meaning?: Meaning;
  readonly status: number;
  /** The headers, their names in lower case; repeated ones joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, decoded, whatever the content encoding was. */
  readonly body: Uint8Array;
  /** The memory of the body, which whoever reads it gives back; absent: none is counted. */
  readonly held?: HeldMemory;
  /** The URL after redirects. */
  readonly url: URL;
}

/** Sends requests to one connection's API. Throws `AppError` or {@link ThrottledError}. */
export interface HttpClient extends AsyncDisposable {
  send(request: HttpRequest, options: SendOptions): Promise<HttpResponse>;
  /** Logs a request that is not sent because a cache has its response. */
  logSaved(request: HttpRequest): Promise<void>;
  /** Logs a request that is not sent because its address was refused before it was complete. */
  logBlocked(method: HttpRequest['method'], url: URL): Promise<void>;
}

/** How one request is sent. */
export interface SendOptions {
  readonly signal: AbortSignal;
  /** Adds the credentials; absent: the request is complete. */
  readonly signer?: RequestSigner;
  /** Classifies the responses to this request; by their status unless given. */
  readonly classify?: Classify;
  /**
   * Called with each response, also with redirects and those to be retried, before it is logged and checked, which wait
   * for the returned promise. Must not throw.
   */
  readonly onResponse?: ((response: HttpResponse) => Promise<void>) | undefined;
}

/** An accepted response that is not the page that was requested. */
export type Meaning =
  /** 304, or a rule with action `empty`: there is nothing to read. */
  | { readonly kind: 'empty'; readonly notModified: boolean }
  /** A rule with action `skip_partition`; `reason` is safe to show. */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** The API no longer knows the page's token, or the token that a token read starts from. */
  | { readonly kind: 'expired'; readonly what: 'page' | 'watermark' }
  /** The page is too large for the API; `pagination.shrink` asks for a smaller one. */
  | { readonly kind: 'too_large' }
  /** There is no page behind the last one; `isCertain`: the status can mean nothing else. */
  | { readonly kind: 'past_end'; readonly isCertain: boolean };

/** A request that got no response. */
export interface NoResponse {
  readonly status: null;
  readonly failure: 'network' | 'timeout';
}

/** Classifies the result of a request. Without a response nothing can be accepted. */
export type Classify = (response: HttpResponse | NoResponse, request: HttpRequest) => Promise<Verdict>;

/** Puts credentials into one logical request. */
export interface RequestSigner {
  /** Called for each attempt, after its wait: no token or timestamp is older than its attempt. */
  sign(request: HttpRequest): Promise<HttpRequest>;
  /** Replaces the credentials of the last attempt, which the API refused. */
  refresh(): Promise<void>;
}

/** What a response means for the request. */
export type Verdict =
  | { readonly action: 'accept'; readonly meaning?: Meaning }
  | { readonly action: 'retry' }
  /** `waitMs` wins over a `Retry-After` header; without both the wait is a backoff. */
  | { readonly action: 'rate_limited'; readonly waitMs?: number }
  /** The credentials may be outdated: they are refreshed once and the request sent again; then `error` is final. */
  | { readonly action: 'refresh'; readonly error: AppError }
  | { readonly action: 'fail'; readonly error: AppError };
