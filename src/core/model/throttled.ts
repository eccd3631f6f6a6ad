import type { AppError } from '../errors.ts';

/**
 * Why a run waits: the limit of its spec, a server that asks for it, a report that is not ready, or the memory of the process,
 * which other large responses take.
 */
export type ThrottleReason = 'limit' | 'server' | 'report' | 'memory';

const reasons = {
  limit: 'Rate limited',
  server: 'Rate limited',
  report: 'The report is not ready',
  memory: 'Other large responses take the memory',
} as const satisfies Record<ThrottleReason, string>;

/**
 * The longest wait in milliseconds that a worker slot is held for. A wait that the server or the bucket asks for may be
 * longer and is handed back; a backoff, which the client chooses, is cut to it instead, so that its attempts are
 * counted.
 */
export const durableWaitMs = 10_000;

/** The wait is long: end the activity and send again after `waitMs`. Nothing is reserved for the caller. */
export class ThrottledError extends Error {
  override readonly name = 'ThrottledError';
  readonly waitMs: number;
  readonly reason: ThrottleReason;
  /** The error of the run when it has no time for the wait, for a destination. Null: the source asks to wait. */
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
