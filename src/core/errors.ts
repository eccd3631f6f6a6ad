/** What an {@link Issue} is about; the five codes of the interface specification. */
export const issueCodes = ['schema', 'duplicate_key', 'duplicate_assign_to', 'unresolved_dependency', 'cycle'] as const;
/** One of {@link issueCodes}. */
export type IssueCode = (typeof issueCodes)[number];

/** One thing wrong with an input, found at `path` (dotted, with array indexes). */
export interface Issue {
  readonly code: IssueCode;
  readonly path: string;
  readonly message: string;
  /** Where the path is written in a YAML document, both from 1; absent otherwise. */
  readonly line?: number;
  readonly column?: number;
}

/** One issue of the code `schema`: the value at `path` breaks a rule. */
export const schemaIssue = (path: string, message: string): Issue => ({ code: 'schema', path, message });

/** The issue if the rule is broken; otherwise none. */
export const issueIf = (isBroken: boolean, path: string, message: string): readonly Issue[] =>
  isBroken ? [schemaIssue(path, message)] : [];

/** How many issues an input is told at once. */
export const issuesMax = 100;

/**
 * The first {@link issuesMax} issues of what was found, and one that says how many more there are: an input of 1 MiB can
 * have 100,000 mistakes. The result, given again, stays as it is.
 */
export function firstIssues<Found>(all: readonly Found[], toIssue: (one: Found) => Issue): readonly Issue[] {
  if (all.length <= issuesMax + 1) return all.map(toIssue);
  return [...all.slice(0, issuesMax).map(toIssue), schemaIssue('', `and ${all.length - issuesMax} more issues`)];
}

/** Failures of an API request. Each has one HTTP status, decided in `src/api/errors.ts`. */
export const requestErrorCodes = [
  'validation',
  'unauthorized',
  'plan_limit',
  'not_found',
  'conflict',
  'immutable',
  'rate_limited',
  'internal',
  'unavailable',
] as const;
/** One of {@link requestErrorCodes}. */
export type RequestErrorCode = (typeof requestErrorCodes)[number];

/** Failures of a run. Whether Temporal retries them is decided in `activities/failures.ts`. */
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

/** Every failure that has a name. */
export type ErrorCode = RequestErrorCode | RunErrorCode;

interface AppErrorOptions {
  readonly issues?: readonly Issue[];
  readonly cause?: unknown;
  readonly isFinal?: boolean;
  readonly needsConsent?: boolean;
  readonly retryAfterSeconds?: number;
}

/** A failure the caller may see: `message` is safe to show, `cause` is for the log only. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  /** The mistakes in an input, see {@link firstIssues}. Only validation failures carry them; undefined otherwise. */
  readonly issues: readonly Issue[] | undefined;
  /** Whether it has been retried for as long as it may be, whatever its code says. */
  readonly isFinal: boolean;
  /** Whether nothing helps but a new authorization by the customer. */
  readonly needsConsent: boolean;
  /** When the request may succeed; undefined: as its code says. */
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

/** The value of a look-up. Throws not_found when there is none. */
export function found<Value>(value: Value | undefined | null | false, what: string): Value {
  if (value === undefined || value === null || value === false) throw notFound(what);
  return value;
}

/** The resource exists but its state forbids the action; `message` says what to do next. */
export const conflict = (message: string): AppError => new AppError('conflict', message);

/** An attempt goes no further: a later one, of this run or of the next, holds the lane. */
export const takenOver = (): AppError => new AppError('fenced', 'A later attempt has taken over this resource.');

/** The input breaks its rules; `issues` names each place. */
export const invalid = (message: string, issues: readonly Issue[]): AppError =>
  new AppError('validation', message, { issues });
