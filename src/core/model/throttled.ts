import type { AppError } from '../errors.ts';

/**
 * Why a run waits: the limit of its spec, a request of the server, an unfinished report, or memory held by other large
 * responses.
 */
export type ThrottleReason = 'limit' | 'server' | 'report' | 'memory';

const reasons = {
  limit: 'Rate limited',
  server: 'Rate limited',
  report: 'The report is not ready',
  memory: 'Other large responses take the memory',
} as const satisfies Record<ThrottleReason, string>;

/**
 * The longest wait in milliseconds that occupies a worker slot. A longer wait of the server or the bucket is handed
 * back; a backoff is cut to it, so that its attempts are counted.
 */
export const durableWaitMs = 10_000;

/** A long wait: end the activity and send again after `waitMs`; nothing is reserved for the caller. */
export class ThrottledError extends Error {
  override readonly name = 'ThrottledError';
  readonly waitMs: number;
  readonly reason: ThrottleReason;
  /** The error of a run without time for the wait, for a destination; `null` if the source asks to wait. */
  readonly otherwise: AppError | null;

  constructor(
    waitMs: number,
    {
      reason = 'server',
      otherwise = null,
    }: { readonly reason?: ThrottleReason; readonly otherwise?: AppError | null } = {},
  ) {
    super(`${reasons[reason]}; retrying in ${Math.ceil(waitMs / 1000)} s.`);
    this.waitMs = waitMs;
    this.reason = reason;
    this.otherwise = otherwise;
  }
}
