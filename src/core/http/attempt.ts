import type { Dispatcher } from 'undici';
import { codeOf, hasCode } from '../error-code.ts';
import { AppError } from '../errors.ts';
import type { HttpRequest, HttpResponse, SendOptions } from '../model/http.ts';
import type { ResponseMemory } from '../model/response-memory.ts';
import { ThrottledError } from '../model/throttled.ts';
import { observations } from '../observations.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import type { EgressGuard } from './egress.ts';
import { type BlockReason, egressBlocked } from './egress-blocked.ts';
import { acceptedEncodings, exchange, type Hop } from './exchange.ts';
import { headerBytesMax } from './header-limit.ts';
import { type CallErrorCode, type CallResult, describeCall, type LoggedCall, type LogLimits } from './logged-call.ts';
import { nextHop } from './redirect.ts';

/** Only outcomes where a retry can still help. */
export type AttemptOutcome =
  | { readonly response: HttpResponse }
  | { readonly failure: 'network' | 'timeout'; readonly cause: unknown };

export interface Attempts {
  /** Throws `egress_blocked`, logged, when the URL itself is refused. */
  check(request: HttpRequest, attempt: number): Promise<void>;
  /** Follows redirects. Throws failures that a retry cannot change: an `AppError`, or the reason of `signal`. */
  run(
    request: HttpRequest,
    attempt: number,
    options: Pick<SendOptions, 'signal' | 'onResponse'>,
  ): Promise<AttemptOutcome>;
  /** A cache has the response of this unsent request. */
  logSaved(request: HttpRequest): Promise<void>;
  /** The address of this unsent request is refused. */
  logBlocked(request: Unsent, attempt: number): Promise<void>;
}

type Unsent = Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body'>;

interface AttemptOptions {
  readonly dispatcher: Dispatcher;
  readonly egress: EgressGuard;
  readonly redirects: 'same_origin' | 'none';
  readonly logCall: (call: LoggedCall) => void | Promise<void>;
  readonly logLimits: LogLimits;
  readonly memory: ResponseMemory;
  readonly now: () => number;
}

/** The inner half of the client: deadline, guard again for each hop, exchange, redirects, call log. */
export function createAttempts(options: AttemptOptions): Attempts {
  const logBlocked = (request: Unsent, attempt: number): Promise<void> =>
    log(options, firstHop(request), { attempt, durationMs: 0, response: null, errorCode: 'egress_blocked' });

  return {
    logBlocked,
    logSaved: async (request) => {
      const saved = { attempt: 1, durationMs: 0, response: null, errorCode: null, cacheHit: true };
      await log(options, firstHop(request), saved);
    },
    check: async (request, attempt) => {
      try {
        options.egress.checkUrl(request.url);
      } catch (error) {
        await logBlocked(request, attempt);
        throw error;
      }
    },
    run: async (request, attempt, { signal, onResponse }) => {
      using deadline = startDeadline(signal, request.timeoutMs);
      let hop = firstHop(request);
      let rejection: BlockReason | null = null;
      for (let followed = 0; ; followed += 1) {
        const outcome: AttemptOutcome = await call(options, hop, { request, attempt, deadline, rejection, onResponse });
        if (!('response' in outcome) || options.redirects === 'none') return outcome;
        const next = nextHop(hop, outcome.response, { request, followed });
        if (next === null) return outcome;
        outcome.response.held?.release();
        ({ hop, rejection } = next);
      }
    },
  };
}

interface CallContext {
  readonly request: HttpRequest;
  readonly attempt: number;
  readonly deadline: Deadline;
  /** The hop is then logged, not sent. */
  readonly rejection: BlockReason | null;
  readonly onResponse: SendOptions['onResponse'];
}

async function call(options: AttemptOptions, hop: Hop, context: CallContext): Promise<AttemptOutcome> {
  const { egress, now } = options;
  const { request, attempt, deadline, rejection, onResponse } = context;
  const startedAt = now();
  let response: HttpResponse | null = null;
  let errorCode: CallErrorCode | null = null;
  try {
    if (rejection !== null) throw egressBlocked(rejection);
    egress.checkUrl(hop.url);
    const { timeoutMs, headersTimeoutMs, responseBytesMax } = request;
    const limits = { signal: deadline.signal, timeoutMs, headersTimeoutMs, responseBytesMax, memory: options.memory };
    response = await exchange(options.dispatcher, hop, limits);
    return { response };
  } catch (error) {
    errorCode = errorCodeOf(error, deadline);
    if (error instanceof ThrottledError) throw error;
    if (errorCode === 'network' || errorCode === 'timeout') return { failure: errorCode, cause: error };
    throw errorCode === 'canceled' ? deadline.signal.reason : asRejection(error);
  } finally {
    const durationMs = now() - startedAt;
    if (response !== null) await onResponse?.(response);
    await log(options, hop, { attempt, durationMs, response, errorCode });
  }
}

async function log(options: AttemptOptions, hop: Hop, result: CallResult): Promise<void> {
  const { response, cacheHit = false, ...facts } = result;
  observations.upstreamCalled.publish({
    ...facts,
    method: hop.method,
    statusCode: response?.status ?? null,
    cacheHit,
  });
  await options.logCall(describeCall(hop, result, options.logLimits));
}

const firstHop = ({ method, url, headers, body }: Unsent): Hop => ({
  method,
  url,
  headers: { 'accept-encoding': acceptedEncodings, 'user-agent': 'connector-sync', ...headers },
  body,
});

/** `network` is the remainder, since errors caused on this side have codes of their own: reset, refused, TLS, bad coding. */
function errorCodeOf(error: unknown, deadline: Deadline): CallErrorCode {
  if (error instanceof AppError) return error.code === 'egress_blocked' ? 'egress_blocked' : 'source_rejected';
  if (deadline.expired()) return 'timeout';
  if (deadline.signal.aborted || error instanceof ThrottledError) return 'canceled';
  const code = codeOf(error);
  if (code === 'UND_ERR_INVALID_ARG') return 'spec_invalid';
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'source_rejected';
  return timeoutCodes.has(code) ? 'timeout' : 'network';
}

const timeoutCodes: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
]);

function asRejection(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (hasCode(error, 'UND_ERR_HEADERS_OVERFLOW')) {
    const message = `The response has more than ${headerBytesMax / 1024} KB of headers: ask the source for fewer cookies or shorter links.`;
    return new AppError('source_rejected', message, { cause: error });
  }
  const message = 'The request has a header or path with characters that HTTP does not allow: correct its template.';
  return new AppError('spec_invalid', message, { cause: error });
}
