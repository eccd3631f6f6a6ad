import type { PostErrorCode } from '../http/post-error.ts';
import { retryAfterMs } from '../http/retry.ts';
import type { PostOutcome } from '../http/webhook-post.ts';

export interface AttemptVerdict {
  readonly delivered: boolean;
  /**
   * `retry`: the schedule continues; `exhausted`: another attempt would end the same; `canceled`: the receiver does not
   * want this event. Meaningless if it was delivered.
   */
  readonly otherwise: 'retry' | 'exhausted' | 'canceled';
  /** The receiver wants no more events. */
  readonly disables: boolean;
  /** Milliseconds of the pause that the receiver requested; `null` if it requested none. */
  readonly pauseMs: number | null;
}

/** Longest pause in milliseconds; events are then sent again. */
const pauseMsMax = 3_600_000;
/** Header by which a receiver controls deliveries: `abort-message` or `disable`. */
const controlHeader = 'webhook-delivery';

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
  const requestedMs = retryAfterMs(header, nowMs);
  return requestedMs === null || requestedMs === 0 ? null : Math.min(requestedMs, pauseMsMax);
}
