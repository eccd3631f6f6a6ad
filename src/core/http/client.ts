/**
 * The guarded client: the only way a run talks HTTP to a customer's system.
 *
 * Everything here is in someone else's hands. The URL was written by an org, its host is named by their DNS, the
 * response comes from their server, and yet the socket is opened from inside our network, with a credential of theirs and
 * on a worker that others share. Each layer takes one of these away, and the order is part of the design:
 *
 *  1. Egress guard (egress.ts). First, because a refused request must have no effect at all: it takes no token, opens
 *     no socket and has no retry. The URL is checked here, DNS responses when the socket is opened; the socket is
 *     pinned to the addresses that were checked, so nothing changes between check and use.
 *  2. Token bucket (`takeToken`). Before the deadline starts: waiting for one's turn is not the server's slowness. One
 *     token per attempt, because a retry is a request like any other to the API that counts them. Credentials are added
 *     after the wait (request-signer.ts): a token may have expired, or been replaced by another process, meanwhile.
 *  3. Deadline (attempt.ts), over request and body together. undici's own limits are per chunk; a server that drips a
 *     byte every second satisfies them for ever.
 *  4. Exchange (exchange.ts). undici's `dispatch`, not `fetch`, which follows redirects by itself and serves
 *     `data:` without any connector. Bodies are decoded here, counted after decoding: 1.7 KB can hold a gigabyte.
 *  5. Redirects by hand (redirect.ts). Each hop passes the guard again and is logged; another origin gets no credential
 *     and no body.
 *  6. Call log (logged-call.ts), once per hop and also for a blocked one. Before the verdict, so what is logged is what
 *     happened, not what was made of it. Secrets are masked before bodies are cut: a cut secret would pass the mask. Only
 *     `onResponse` comes first: it may see where a read goes on and have the next request sent meanwhile.
 *  7. Verdict and retry (retry.ts, next-wait.ts), outermost, so that each attempt goes through all of the above. The wait
 *     is slept here when it is short. A longer one, which the bucket or the server requests, becomes a
 *     {@link ThrottledError}: the run then sleeps on a durable timer instead of holding a worker slot. A backoff is never
 *     longer than that, and a wait above `maxWaitSeconds` fails the run.
 *
 * One client per run, with sockets of its own or those that an earlier run of its connection left open (sockets.ts): none
 * is ever shared by two customers. `HTTP_PROXY` and its like are not read, as a proxy would open the socket past the guard.
 * The proxy of `EGRESS_PROXY` is the guard's own (egress.ts).
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

/** An {@link HttpClient} to which secrets can be added after it is created. */
export interface GuardedHttpClient extends HttpClient {
  /** Masks `secret`, a refreshed token for instance, in all later log entries and messages. */
  readonly addSecret: (secret: string) => void;
}

/** The options of one client. */
export interface HttpClientOptions {
  readonly egress: EgressGuard;
  /** Disposed with the client; absent: sockets of its own. */
  readonly sockets?: Sockets;
  /**
   * Takes a token for the request; returns the milliseconds to wait before sending. A wait above `reserveWithinMs`
   * must not be reserved: the run comes back for it after a durable timer.
   */
  readonly takeToken: (request: HttpRequest, limits: { readonly reserveWithinMs: number }) => Promise<number>;
  /** Called before a wait for a rate limit, the spec's or the API's, with its length. */
  readonly onRateLimit?: (waitMs: number, reason: ThrottleReason) => void;
  /** Called with every response before it is checked: its headers may say what is left of the API's own budget. */
  readonly noteResponse?: (request: HttpRequest, response: HttpResponse) => Promise<void>;
  /** Called once per request on the wire and once per blocked one, in order; a failure fails the request. */
  readonly logCall: (call: LoggedCall) => void | Promise<void>;
  /** Values to mask: secret parameters, tokens, the `user:password` pair. */
  readonly secrets: readonly string[];
  /** Holds the memory of large responses; any amount unless given. */
  readonly memory?: ResponseMemory;
  readonly retry: RetryPolicy;
  readonly redirects: 'same_origin' | 'none';
  /** What a response means; the error defaults of the spec format unless given. */
  readonly classify?: Classify;
  /** Characters of each body in the log; 2048 unless given. */
  readonly logBodyCharsMax?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** A random number from 0 up to but not including 1. */
  readonly random?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Creates the client of one run. Dispose it when the run ends, which closes its sockets. */
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
        // Nobody reads the body of any other response.
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
  /** Method and masked path, for messages. */
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
