import { AppError } from '../errors.ts';
import type { Verdict } from '../model/http.ts';
import { durableWaitMs, ThrottledError } from '../model/throttled.ts';
import { observations } from '../observations.ts';
import type { AttemptOutcome } from './attempt.ts';
import { type ConnectionError, connectionErrorOf } from './post-error.ts';
import { backoffMs, type RetryPolicy, retryAfterMs } from './retry.ts';

/**
 * Milliseconds after which a request is not retried, even with attempts left. With a last wait and the longest attempt (120 s) it
 * ends within 5 minutes; the run's own retries do the rest.
 */
const requestMsMax = 150_000;

interface AttemptPlace {
  readonly attempt: number;
  readonly startedAt: number;
  readonly where: string;
}

/**
 * Throws {@link ThrottledError} when the wait is too long to sleep in the process, and other errors above `maxWaitSeconds` or
 * after the last attempt.
 */
export function createNextWait({
  retry,
  now,
  random,
}: {
  readonly retry: RetryPolicy;
  readonly now: () => number;
  readonly random: () => number;
}): (outcome: AttemptOutcome, verdict: Verdict, place: AttemptPlace) => number {
  return (outcome, verdict, { attempt, where, startedAt }) => {
    const requestedMs = requestedWaitMs(outcome, verdict, now());
    if (requestedMs !== null && requestedMs > retry.maxWaitSeconds * 1000) throw waitTooLong(where, requestedMs, retry);
    if (requestedMs !== null && requestedMs > durableWaitMs) {
      observations.waitBegun.publish({ reason: 'retry_after', waitMs: requestedMs });
      throw new ThrottledError(requestedMs);
    }
    if (attempt >= retry.maxAttempts || now() - startedAt > requestMsMax) throw exhausted(where, outcome, attempt);
    const waitMs = requestedMs ?? backoffMs({ ...retry, maxMs: Math.min(retry.maxMs, durableWaitMs) }, attempt, random);
    observations.waitBegun.publish({ reason: requestedMs === null ? 'backoff' : 'retry_after', waitMs });
    return waitMs;
  };
}

/** `null` when neither the rule nor the server requests a wait. */
export function requestedWaitMs(outcome: AttemptOutcome, verdict: Verdict, nowMs: number): number | null {
  if (verdict.action === 'rate_limited' && verdict.waitMs !== undefined) return verdict.waitMs;
  return 'response' in outcome ? retryAfterMs(outcome.response.headers['retry-after'], nowMs) : null;
}

export function waitTooLong(where: string, requestedMs: number, retry: RetryPolicy): AppError {
  const request = `${where} asks to wait ${Math.ceil(requestedMs / 1000)} s, more than http.retry.maxWaitSeconds`;
  // Not source_unavailable: another attempt of the run would get the same response.
  return new AppError(
    'source_rejected',
    `${request} (${retry.maxWaitSeconds}): start the run again later or raise that limit.`,
  );
}

/** Error code `source_unavailable`; `where` is method and masked path. */
export function exhausted(where: string, outcome: AttemptOutcome, attempts: number): AppError {
  const tries = attempts === 1 ? 'in 1 attempt' : `in ${attempts} attempts`;
  const advice = 'The source is failing or unreachable; start the run again later.';
  if ('response' in outcome) {
    return new AppError('source_unavailable', `${where} responded with ${outcome.response.status} ${tries}. ${advice}`);
  }
  const what =
    outcome.failure === 'timeout'
      ? `did not respond in time ${tries}`
      : `could not be reached ${tries}: ${reasons[connectionErrorOf(outcome.cause)]}`;
  return new AppError('source_unavailable', `${where} ${what}. ${advice}`, { cause: outcome.cause });
}

const reasons: Readonly<Record<ConnectionError, string>> = {
  dns_error: 'its host name is not found',
  timeout: 'it accepted no connection in time',
  connect_refused: 'it refused the connection',
  tls_error: 'its certificate is not accepted, or no encrypted connection was agreed upon',
  connection_reset: 'the connection ended before a response',
};
