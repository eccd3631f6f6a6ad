import type { PostErrorCode } from '../http/post-error.ts';
import { retryAfterMs } from '../http/retry.ts';
import type { PostOutcome } from '../http/webhook-post.ts';

/** What the outcome of an attempt means. */
export interface AttemptVerdict {
  readonly delivered: boolean;
  /**
   * `retry`: the schedule goes on; `exhausted`: another attempt would end the same; `canceled`: the receiver does not want
   * this event. Of no meaning when it was delivered.
   */
  readonly otherwise: 'retry' | 'exhausted' | 'canceled';
  /** The receiver wants nothing any more. */
  readonly disables: boolean;
  /** For how long the receiver asked to be left alone, ms; null: it did not. */
  readonly pauseMs: number | null;
}

/** A receiver is left alone for an hour at most, ms; one that asks for more is asked again after it. */
const pauseMsMax = 3_600_000;
/** The header with which a receiver steers deliveries; `abort-message` or `disable`. */
const controlHeader = 'webhook-delivery';

/** Checks an outcome; `nowMs` since the epoch. */
export function classifyAttempt({ statusCode, errorCode, headers }: PostOutcome, nowMs: number): AttemptVerdict {
  const delivered = errorCode === null;
  const control = headers[controlHeader]?.trim().toLowerCase();
  const disables = statusCode === 410 || control === 'disable';
  return {
    delivered,
    otherwise: otherwiseOf(errorCode, disables || control === 'abort-message'),
    disables,
    pauseMs: statusCode === 429 || statusCode === 503 ? pauseOf(headers['retry-after'], nowMs) : null,
  };
}

function otherwiseOf(errorCode: PostErrorCode | null, refused: boolean): AttemptVerdict['otherwise'] {
  if (refused) return 'canceled';
  return errorCode === 'egress_blocked' ? 'exhausted' : 'retry';
}

function pauseOf(header: string | undefined, nowMs: number): number | null {
  const askedMs = retryAfterMs(header, nowMs);
  return askedMs === null || askedMs === 0 ? null : Math.min(askedMs, pauseMsMax);
}
