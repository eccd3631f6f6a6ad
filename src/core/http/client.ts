/**
 * The guarded client: the only way a run talks HTTP to a customer's system.
 *
 * Nothing here can be trusted. An org wrote the URL, its DNS names the host, and its server sends the response. Yet the
 * socket is opened from inside our network, with a credential of the org, on a worker that others share. Each layer
 * removes one of these risks, and the order is part of the design:
 *
 *  1. Egress guard (egress.ts). First, because a refused request must have no effect: it takes no token, opens no
 *     socket and is not retried. The URL is checked here, DNS responses when the socket is opened. The socket is pinned
 *     to the checked addresses, so nothing changes between check and use.
 *  2. Token bucket (`takeToken`). Before the deadline starts, since this wait is not the server's slowness. One token
 *     per attempt, because the API counts a retry like any other request. Credentials are added after the wait
 *     (source/auth/request-signer.ts): meanwhile a token may have expired, or been replaced by another process.
 *  3. Deadline (attempt.ts), over request and body together. undici's own limits are per chunk; a server that drips a
 *     byte every second satisfies them forever.
 *  4. Exchange (exchange.ts). undici's `dispatch`, not `fetch`, which follows redirects by itself and serves `data:`
 *     without any connector. Bodies are counted after decoding: 1.7 KB can hold a gigabyte.
 *  5. Redirects by hand (redirect.ts). Each hop passes the guard again and is logged; another origin gets no credential
 *     and no body.
 *  6. Call log (logged-call.ts), once per hop and also for a blocked one. Before the verdict, so that it records events
 *     and not their interpretation. Secrets are masked before bodies are cut: a cut secret would pass the mask. Only
 *     `onResponse` comes first: it may find the next page and have it requested meanwhile.
 *  7. Verdict and retry (retry.ts, next-wait.ts), outermost, so that each attempt passes all other layers. A short wait
 *     is slept here. A longer one, requested by the bucket or the server, becomes a {@link ThrottledError}: the run then
 *     sleeps on a durable timer instead of holding a worker slot. A backoff is never longer than the short wait, and a
 *     wait above `maxWaitSeconds` fails the run.
 *
 * One client per run, with sockets of its own or those left open by an earlier run of its connection (sockets.ts). No two
 * customers ever share one. `HTTP_PROXY` and similar variables are not read, as a proxy would open the socket past the
 * guard. The proxy of `EGRESS_PROXY` is the guard's own (egress.ts).
 */

import { setTimeout as sleepFor } from 'node:timers/promises';
import type { Classify, HttpClient, HttpRequest, HttpResponse, Verdict } from '../model/http.ts';
import { anyMemory, type ResponseMemory } from '../model/response-memory.ts';
import { durableWaitMs, ThrottledError, type ThrottleReason } from '../model/throttled.ts';
import { observations } from '../observations.ts';
import { type AttemptOutcome, createAttempts } from './attempt.ts';
import type { EgressGuard } from './egress.ts';
import type { LoggedCall } from './logged-call.ts';
import { createNextWait } from './next-wait.ts';
import { createRedactor } from './redact.ts';
import { classifyByStatus, type RetryPolicy } from './retry.ts';
import { openSockets, type Sockets } from './sockets.ts';
import { limitUrl } from './url-limit.ts';

export interface GuardedHttpClient extends HttpClient {
  /** Masks `secret` in all later log entries and messages. */
  readonly addSecret: (secret: string) => void;
}

export interface HttpClientOptions {
  readonly egress: EgressGuard;
  /** Disposed with the client; by default it has sockets of its own. */
  readonly sockets?: Sockets;
  /**
   * Returns the milliseconds to wait before sending. Must not reserve a wait above `reserveWithinMs`: the run asks again after a
   * durable timer.
   */
  readonly takeToken: (request: HttpRequest, limits: { readonly reserveWithinMs: number }) => Promise<number>;
  /** Called before a wait for a rate limit, the spec's or the API's. */
  readonly onRateLimit?: (waitMs: number, reason: ThrottleReason) => void;
  /** Called before the response is checked: its headers may give the remaining budget of the API. */
  readonly noteResponse?: (request: HttpRequest, response: HttpResponse) => Promise<void>;
  /** Called once per request on the wire and once per blocked one, in order; a failure fails the request. */
  readonly logCall: (call: LoggedCall) => void | Promise<void>;
  /** Values to mask: secret parameters, tokens, the `user:password` pair. */
  readonly secrets: readonly string[];
  /** Unlimited by default. */
  readonly memory?: ResponseMemory;
  readonly retry: RetryPolicy;
  readonly redirects: 'same_origin' | 'none';
  /** By default as the spec format says. */
  readonly classify?: Classify;
  /** By default 2048. */
  readonly logBodyCharsMax?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** A random number from 0 up to but not including 1. */
  readonly random?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Disposing closes the sockets. */
export function createHttpClient(options: HttpClientOptions): GuardedHttpClient {
  const { retry, now = Date.now, random = Math.random, sleep = defaultSleep, onRateLimit } = options;
  const redactor = createRedactor(options.secrets);
  const sockets = options.sockets ?? openSockets(options.egress);
  const attempts = createAttempts({
    ...options,
    dispatcher: sockets.dispatcher,
    memory: options.memory ?? anyMemory,
    now,
    logLimits: { redactor, bodyCharsMax: options.logBodyCharsMax ?? 2048 },
  });
  const nextWaitMs = createNextWait({ retry, now, random });

  const takeTurn = async (request: HttpRequest, signal: AbortSignal): Promise<void> => {
    const waitMs = await options.takeToken(request, { reserveWithinMs: durableWaitMs });
    if (waitMs <= 0) return;
    observations.waitBegun.publish({ reason: 'rate_limit', waitMs });
    if (waitMs > durableWaitMs) throw new ThrottledError(waitMs, { reason: 'limit' });
    onRateLimit?.(waitMs, 'limit');
    await sleep(waitMs, signal);
  };

  const verdictOf = (
    outcome: AttemptOutcome,
    request: HttpRequest,
    { where, classify }: Classifying,
  ): Verdict | Promise<Verdict> => {
    if ('response' in outcome) {
      return classify?.(outcome.response, request) ?? classifyByStatus(outcome.response, request, where);
    }
    return classify?.({ status: null, failure: outcome.failure }, request) ?? { action: 'retry' };
  };

  return {
    send: async (request, { signal, signer, classify = options.classify, onResponse }) => {
      limitUrl(request.url.href);
      const where = `${request.method} ${redactor.text(request.url.pathname)}`;
      const startedAt = now();
      let refreshed = false;
      for (let attempt = 1; ; attempt += 1) {
        signal.throwIfAborted();
        await attempts.check(request, attempt);
        await takeTurn(request, signal);
        const signed = (await signer?.sign(request)) ?? request;
        const outcome = await attempts.run(signed, attempt, { signal, onResponse });
        if ('response' in outcome) await options.noteResponse?.(request, outcome.response);
        const verdict = await verdictOf(outcome, request, { where, classify });
        // The body of any other response is never read.
        if ('response' in outcome && (verdict.action !== 'accept' || verdict.meaning)) outcome.response.held?.release();
        if (verdict.action === 'fail') throw verdict.error;
        if (verdict.action === 'refresh') {
          if (refreshed || !signer) throw verdict.error;
          await signer.refresh();
          refreshed = true;
          continue;
        }
        if (verdict.action === 'accept' && 'response' in outcome) {
          const { meaning } = verdict;
          return meaning ? { ...outcome.response, meaning } : outcome.response;
        }
        const waitMs = nextWaitMs(outcome, verdict, { attempt, where, startedAt });
        if (verdict.action === 'rate_limited') onRateLimit?.(waitMs, 'server');
        await sleep(waitMs, signal);
      }
    },
    logSaved: (request) => attempts.logSaved(request),
    logBlocked: (method, url) => attempts.logBlocked({ method, url, headers: {} }, 1),
    addSecret: (secret) => redactor.add(secret),
    [Symbol.asyncDispose]: () => sockets[Symbol.asyncDispose](),
  };
}

interface Classifying {
  readonly where: string;
  readonly classify: Classify | undefined;
}

const defaultSleep = async (ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await sleepFor(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
};
