import { ApplicationFailure } from '@temporalio/common';
import { AppError, type ErrorCode, type RunErrorCode } from '../src/core/errors.ts';

/** Which failures of a run Temporal retries. The only such table; HTTP statuses are decided in the API. */
const retried = {
  egress_blocked: false,
  auth_failed: false,
  spec_invalid: false,
  page_loop: false,
  page_limit: false,
  source_rejected: false,
  source_unavailable: true,
  record_invalid: false,
  destination_rejected: false,
  destination_login: false,
  destination_gone: false,
  destination_unavailable: true,
  no_progress: false,
  // A replaced attempt cannot report it; the current attempt, fenced off by a late one, is retried.
  fenced: true,
} as const satisfies Record<RunErrorCode, boolean>;

/**
 * The form in which a failure enters the history. The service writes its message, which is safe to show; foreign text
 * (a driver's error, a response body) stays in the log. A bug is retried: a deployment fixes it and nothing is lost.
 */
export function toFailure(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  if (error instanceof AppError) {
    return ApplicationFailure.create({
      message: error.message,
      type: error.code,
      nonRetryable: error.isFinal || !isRetried(error.code),
    });
  }
  return ApplicationFailure.create({ message: 'Unexpected error; see the log of the worker.', type: 'internal' });
}

/** Whether a later attempt may succeed. */
const isRetried = (code: ErrorCode): boolean => (code in retried ? retried[code as RunErrorCode] : false);
