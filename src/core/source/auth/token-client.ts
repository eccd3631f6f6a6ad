import { AppError } from '../../errors.ts';
import { createHttpClient, type GuardedHttpClient, type HttpClientOptions } from '../../http/client.ts';
import type { LoggedCall } from '../../http/logged-call.ts';
import { classifyByStatus } from '../../http/retry.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type HttpClient, type HttpRequest, type HttpResponse, type Verdict } from '../../model/http.ts';
import { decodeJson } from '../decode/decode-json.ts';

/** Time for a token request with its retries, less than the duration of a lease. */
const tokenMsMax = 25_000;

/** Limits of one attempt: a token response has a few hundred bytes. */
export const tokenTransport = { timeoutMs: 20_000, responseBytesMax: 65_536, allowedHosts: [] } as const;

/** Short, because the whole run is retried if the endpoint is down for longer. */
const retry = { maxAttempts: 3, baseMs: 500, maxMs: 2_000, maxWaitSeconds: 3_600 } as const;

/**
 * The client for token and login requests; disposing lets them finish. It takes no token of the API's bucket, because a
 * request that holds its turn would wait for a second one. It has no error rules, and follows no redirect because a
 * credential must not. `takeToken`, if present, serves the login's own bucket. The log masks whole bodies, because they
 * hold only secrets.
 */
export function createTokenClient(
  options: Pick<HttpClientOptions, 'egress' | 'logCall' | 'secrets' | 'sleep' | 'random' | 'noteResponse'> &
    Partial<Pick<HttpClientOptions, 'takeToken'>>,
): GuardedHttpClient {
  const client = createHttpClient({
    takeToken: async () => 0,
    ...options,
    logCall: (call) => options.logCall(maskBodies(call)),
    retry,
    redirects: 'none',
    classify: async (response, request) =>
      response.status === null ? { action: 'retry' } : classifyTokenResponse(response, request),
  });
  const inProgress = new Set<Promise<unknown>>();
  return {
    ...client,
    async send(request, sending) {
      const sent = client.send(request, sending);
      inProgress.add(sent);
      try {
        return await sent;
      } finally {
        inProgress.delete(sent);
      }
    },
    async [Symbol.asyncDispose]() {
      const closed = Promise.allSettled(inProgress).then(() => client[Symbol.asyncDispose]());
      // A canceled run does not wait for its token.
      if (inProgress.size === 0) await closed;
    },
  };
}

/**
 * Canceling the run does not interrupt the request, whose response may hold the only copy of a new refresh token.
 * Throws `auth_failed` if the client or its grant is refused, `source_rejected` for an unreadable response,
 * `source_unavailable` if the endpoint fails, and what the client throws.
 */
export async function sendTokenRequest(client: HttpClient, request: HttpRequest): Promise<HttpResponse> {
  const signal = AbortSignal.timeout(tokenMsMax);
  try {
    return await client.send(request, { signal });
  } catch (cause) {
    if (!signal.aborted || cause instanceof AppError) throw cause;
    const message = `${place} returned no token within ${tokenMsMax / 1000} s. Start the run again later.`;
    throw new AppError('source_unavailable', message, { cause });
  }
}

/** Ignores the content type and returns `null` without a body; throws `source_rejected` if it is not JSON. */
export const decodeTokenResponse = (body: Uint8Array): unknown =>
  body.length === 0 ? null : decodeJson(body, { bigNumbers: 'string' });

/** Errors of RFC 6749 (5.2, 4.1.2.1) and of providers that send them with status 200. */
const oauthErrors: Readonly<Record<string, 'refused' | 'transient'>> = {
  invalid_request: 'refused',
  invalid_client: 'refused',
  invalid_grant: 'refused',
  invalid_scope: 'refused',
  unauthorized_client: 'refused',
  unsupported_grant_type: 'refused',
  access_denied: 'refused',
  server_error: 'transient',
  temporarily_unavailable: 'transient',
};

function classifyTokenResponse(response: HttpResponse, request: HttpRequest): Verdict {
  const verdict = classifyByStatus(response, request, place);
  if (verdict.action !== 'accept' && verdict.action !== 'fail') return verdict;
  const code = oauthErrorOf(response);
  if (code !== null && oauthErrors[code] === 'transient') return { action: 'retry' };
  if (code !== null) {
    const hint = code === 'invalid_client' ? otherWay(request) : '';
    return {
      action: 'fail',
      error: refused(`${response.status} (${code})`, { hint, needsConsent: code === 'invalid_grant' }),
    };
  }
  const { status } = response;
  if (status === 304 && !isConditional(request)) return { action: 'fail', error: refused('304') };
  return [400, 401, 403, 422].includes(status) ? { action: 'fail', error: refused(String(status)) } : verdict;
}

const isConditional = ({ headers }: HttpRequest): boolean =>
  headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined;

/** `null` without a known code, as other text of the server is not repeated. */
function oauthErrorOf(response: HttpResponse): string | null {
  try {
    const body = decodeJson(response.body, { bigNumbers: 'string' });
    const code = isJsonObject(body) ? body['error'] : null;
    return typeof code === 'string' && Object.hasOwn(oauthErrors, code) ? code : null;
  } catch (error) {
    // A web page, or an empty body: the status is enough.
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** Suggests the other client authentication, if any, because providers that accept only one do not say so. */
function otherWay({ headers, body }: HttpRequest): string {
  const tried = headers['authorization']?.startsWith('Basic ')
    ? ['header', 'basic', 'body', 'post']
    : String(body).includes('client_secret')
      ? ['body', 'post', 'header', 'basic']
      : null;
  if (tried === null) return '';
  const [part, way, otherPart, other] = tried;
  return ` The client was sent in the ${part} (clientAuth: ${way}); if the API wants it in the ${otherPart}, use clientAuth: ${other}.`;
}

interface Refusal {
  readonly hint?: string;
  readonly needsConsent?: boolean;
}

function refused(what: string, { hint = '', needsConsent = false }: Refusal = {}): AppError {
  const advice =
    "Check the connection's credentials and the auth block of the spec, then activate the connection again.";
  return new AppError('auth_failed', `${place} responded with ${what} and returned no token.${hint} ${advice}`, {
    needsConsent,
  });
}

/** Not the address, which may contain secrets. */
const place = 'The token endpoint';

const mask = '[redacted]';

/** The response to a refused request stays: it gives the reason and holds no token. */
function maskBodies(call: LoggedCall): LoggedCall {
  const { statusCode, reqBodyRedacted, respBodyTruncated, respHeaders } = call;
  const reqBody = { reqBodyRedacted: reqBodyRedacted === null ? null : mask };
  if (statusCode !== null && statusCode >= 300) return { ...call, ...reqBody };
  const plain = Object.entries(respHeaders).filter(([name]) => plainHeaders.has(name));
  return {
    ...call,
    ...reqBody,
    respHeaders: Object.fromEntries(plain),
    respBodyTruncated: respBodyTruncated === null ? null : mask,
  };
}

const plainHeaders: ReadonlySet<string> = new Set(['content-length', 'content-type', 'date']);
