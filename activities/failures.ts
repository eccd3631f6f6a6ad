/**
 * How the failure of an activity enters a history, and whether Temporal retries it. The code of an AppError decides, by the
 * table below. `isFinal` overrides it: whoever threw the error has retried for as long as it may, so no attempt follows,
 * though the code alone would get one.
 *
 * Refusals of inputs that are not ours are made where these come in. One other file makes an ApplicationFailure:
 * workflows/run-to-end.ts fails a run with the code and message of its first step. They were decided here; a first step
 * returns them, because its own failure means that an activity tries again.
 */
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { Attempt } from '../db/queries/runs/attempts.ts';
import { AppError, type ErrorCode, type RunErrorCode } from '../src/core/errors.ts';
import { cutText } from '../src/core/json/cut-text.ts';
import type { Deps } from '../src/deps.ts';

/**
 * The failures of a run that Temporal retries; whether a later run may succeed is in `src/core/events/run-failure.ts`.
 */
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
  // An attempt that was replaced cannot report this. The current one reports it after a late attempt fenced it off.
  fenced: true,
} as const satisfies Record<RunErrorCode, boolean>;

/** Characters of a message in a history: no failure may be larger than Temporal takes. */
const messageMax = 4000;

/**
 * The form in which a failure enters the history. The service writes its message, which is safe to show; foreign text
 * (a driver's error, a response body) stays in the log. A bug is retried: a deployment fixes it and nothing is lost.
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

/** Whether a later attempt may succeed. */
const isRetried = (code: ErrorCode): boolean => (code in retried ? retried[code as RunErrorCode] : code === 'internal');

/** Whether somebody who changes the connection can mend it: credentials or a destination were refused. */
export const isRefusal = (code: string): boolean =>
  code === 'auth_failed' || code === 'destination_login' || code === 'destination_gone';

/** The failure of an attempt that is to be tried again, although its code alone would get none. */
export const toRetry = (error: AppError): ApplicationFailure =>
  ApplicationFailure.create({
    type: error.code,
    message: cutText(error.message, messageMax),
    nonRetryable: false,
    cause: error,
  });

/** What the log says when the work of an activity fails. */
interface FailureReport {
  /** Writes the line, at its level; the error is one of its fields. */
  readonly write: Deps['log']['error'];
  readonly message: string;
  /** Ids and the like; never data. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Called once it is logged, before it is thrown. Absent: nothing else happens. */
  readonly note?: (failure: ApplicationFailure) => Promise<void>;
}

/**
 * The boundary of an activity: what its work throws is logged, and thrown in the form that a history may hold. A cancel passes
 * as it is, without a line.
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

/** Ends a run without progress with the error of its last attempt; a worker that died leaves no error. */
export function retriesExhausted({ attempts, errorCode, errorMessage }: Attempt): ApplicationFailure {
  const cause = errorMessage ?? 'The worker died on every attempt; see its log.';
  const message = `No progress after ${attempts - 1} attempts: ${cause} Fix the cause and start the sync again: it continues from the watermark.`;
  return ApplicationFailure.create({
    type: errorCode ?? 'no_progress',
    message: cutText(message, messageMax),
    nonRetryable: true,
  });
}
