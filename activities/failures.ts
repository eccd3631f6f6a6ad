/**
 * Turns failures of activities into their form in a history, and decides by code whether Temporal retries them. `isFinal`
 * overrides the code: its thrower has retried for as long as it may.
 *
 * Foreign inputs are refused where they arrive. Only workflows/run-to-end.ts also makes an ApplicationFailure, with a code
 * and message decided here: a first step returns them, because its own failure means that an activity tries again.
 */
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { Attempt } from '../db/queries/runs/attempts.ts';
import { AppError, type ErrorCode, type RunErrorCode } from '../src/core/errors.ts';
import { cutText } from '../src/core/json/cut-text.ts';
import type { Deps } from '../src/deps.ts';

/** Whether Temporal retries a failure of a run; `src/core/events/run-failure.ts` says whether a later run may succeed. */
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
  destination_behind: false,
  destination_unavailable: true,
  no_progress: false,
  // Reported by the current attempt after a late one fenced it off; a replaced attempt cannot report it.
  fenced: true,
} as const satisfies Record<RunErrorCode, boolean>;

/** Characters of a message in a history, to stay below Temporal's limit on failures. */
const messageMax = 4000;

/**
 * The service's own message is safe to show; foreign text (a driver's error, a response body) stays in the log. A bug is
 * retried: a deployment fixes it and nothing is lost.
 */
function toFailure(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  if (error instanceof AppError) {
    return ApplicationFailure.create({
      message: cutText(error.message, messageMax),
      type: error.code,
      nonRetryable: error.isFinal || !isRetried(error.code),
    });
  }
  return ApplicationFailure.create({ message: 'Unexpected error; see the log of the worker.', type: 'internal' });
}

const isRetried = (code: ErrorCode): boolean => (code in retried ? retried[code as RunErrorCode] : code === 'internal');

/** True if a change of the connection can mend it: credentials or a destination were refused. */
export const isRefusal = (code: string): boolean =>
  code === 'auth_failed' || code === 'destination_login' || code === 'destination_gone';

export const toRetry = (error: AppError): ApplicationFailure =>
  ApplicationFailure.create({
    type: error.code,
    message: cutText(error.message, messageMax),
    nonRetryable: false,
    cause: error,
  });

interface FailureReport {
  readonly write: Deps['log']['error'];
  readonly message: string;
  /** Never data. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly note?: (failure: ApplicationFailure) => Promise<void>;
}

/**
 * The boundary of an activity: logs an error and throws it in the form for a history. A cancel passes unchanged and is not
 * logged.
 */
export async function withFailures<Result>(
  { write, message, fields, note }: FailureReport,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CancelledFailure) throw error;
    write(message, { ...fields, error });
    const failure = toFailure(error);
    await note?.(failure);
    throw failure;
  }
}

/** Uses the error of the last attempt; a worker that died leaves none. */
export function retriesExhausted({ attempts, errorCode, errorMessage }: Attempt): ApplicationFailure {
  const cause = errorMessage ?? 'The worker died on every attempt; see its log.';
  const message = `No progress after ${attempts - 1} attempts: ${cause} Fix the cause and start the sync again: it continues from the watermark.`;
  return ApplicationFailure.create({
    type: errorCode ?? 'no_progress',
    message: cutText(message, messageMax),
    nonRetryable: true,
  });
}
