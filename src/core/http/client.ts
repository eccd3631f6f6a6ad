/** One logical request to a customer's system; retries and redirects happen inside the client. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds for one attempt, request and body together. */
  readonly timeoutMs: number;
  /** Decoded bytes. */
  readonly responseBytesMax: number;
  /** Hosts a redirect may lead to besides the request's own origin: exact or `*.host`. */
  readonly allowedHosts: readonly string[];
}

/** The final answer of a request: any status that is not retried. */
export interface HttpAnswer {
  readonly status: number;
  /** Lower-case names; repeated headers joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** After redirects. */
  readonly url: URL;
}

/** Sends requests to one connection's API. Throws `AppError` or {@link ThrottledError}. */
export interface HttpClient extends AsyncDisposable {
  send(request: HttpRequest, options: { readonly signal: AbortSignal }): Promise<HttpAnswer>;
}
