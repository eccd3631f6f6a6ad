/** Codes of an {@link Issue}: the five of the interface specification. */
export const issueCodes = ['schema', 'duplicate_key', 'duplicate_assign_to', 'unresolved_dependency', 'cycle'] as const;
export type IssueCode = (typeof issueCodes)[number];

/** One mistake in an input, found at `path` (dotted, with array indexes). */
export interface Issue {
  readonly code: IssueCode;
  readonly path: string;
  readonly message: string;
  /** Position of the path in a YAML document, from 1; otherwise absent. */
  readonly line?: number;
  readonly column?: number;
}

export const schemaIssue = (path: string, message: string): Issue => ({ code: 'schema', path, message });

export const issueIf = (isBroken: boolean, path: string, message: string): readonly Issue[] =>
  isBroken ? [schemaIssue(path, message)] : [];

export const issuesMax = 100;

/**
 * Keeps {@link issuesMax} issues and counts the others, as 1 MiB can have 100,000 mistakes; applying it twice changes
 * nothing.
 */
export function firstIssues<Found>(all: readonly Found[], toIssue: (one: Found) => Issue): readonly Issue[] {
  if (all.length <= issuesMax + 1) return all.map(toIssue);
  return [...all.slice(0, issuesMax).map(toIssue), schemaIssue('', `and ${all.length - issuesMax} more issues`)];
}

/** Each has one HTTP status, decided in `src/api/errors.ts`. */
export const requestErrorCodes = [
  'validation',
  'unauthorized',
  'forbidden',
  'plan_limit',
  'not_found',
  'conflict',
  'immutable',
  'rate_limited',
  'internal',
  'unavailable',
] as const;
export type RequestErrorCode = (typeof requestErrorCodes)[number];

/** Whether Temporal retries them is decided in `activities/failures.ts`. */
export type RunErrorCode =
  | 'egress_blocked'
  | 'auth_failed'
  | 'spec_invalid'
  | 'page_loop'
  | 'page_limit'
  | 'source_rejected'
  | 'source_unavailable'
  | 'record_invalid'
  | 'destination_rejected'
  | 'destination_login'
  | 'destination_gone'
  | 'destination_behind'
  | 'destination_unavailable'
  | 'no_progress'
  | 'fenced';

export type ErrorCode = RequestErrorCode | RunErrorCode;

interface AppErrorOptions {
  readonly issues?: readonly Issue[];
  readonly cause?: unknown;
  readonly isFinal?: boolean;
  readonly needsConsent?: boolean;
  readonly retryAfterSeconds?: number;
}

/** A failure that the caller may see: `message` is safe to show, `cause` is for the log only. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  /** Mistakes in an input, see {@link firstIssues}; `undefined` unless validation failed. */
  readonly issues: readonly Issue[] | undefined;
  /** Whether it has been retried for as long as allowed, regardless of its code. */
  readonly isFinal: boolean;
  /** Whether only a new authorization by the customer helps. */
  readonly needsConsent: boolean;
  /** Seconds after which the request may succeed; `undefined` if the code decides. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.issues = options.issues && firstIssues(options.issues, (issue) => issue);
    this.isFinal = options.isFinal ?? false;
    this.needsConsent = options.needsConsent ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The resource is absent or belongs to another org; both read the same from outside. */
export const notFound = (what: string): AppError => new AppError('not_found', `${what} not found.`);

/** Throws `not_found` if the look-up found nothing. */
export function found<Value>(value: Value | undefined | null | false, what: string): Value {
  if (value === undefined || value === null || value === false) throw notFound(what);
  return value;
}

/** The resource exists but its state forbids the action; `message` says what to do next. */
export const conflict = (message: string): AppError => new AppError('conflict', message);

/** The attempt must stop: a later one, of this run or the next, holds the lane. */
export const takenOver = (): AppError => new AppError('fenced', 'A later attempt has taken over this resource.');

/** The customer owns the checkpoint row; only the service may write it. */
export const checkpointChanged = (cause: unknown): AppError =>
  new AppError(
    'destination_rejected',
    'The checkpoint of this resource in _css_checkpoint was changed by somebody else, so nobody knows what was delivered last. ' +
      'Delete its row: the next run reads and delivers everything again.',
    { cause },
  );

export const invalid = (message: string, issues: readonly Issue[]): AppError =>
  new AppError('validation', message, { issues });
