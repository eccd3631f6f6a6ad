import type { ErrorBody, Issue } from './api.gen.ts';

/** The codes by which the service names its errors. */
export type ErrorCode = NonNullable<ErrorBody['error']['code']>;

/** The service refused a request, or failed. `message` says why and what to do next. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** Of HTTP. */
  readonly status: number;
  /** Null: an error without a code, or a response that is not the service's own. */
  readonly code: ErrorCode | null;
  /** The mistakes in the input, each with its path; empty for other errors. */
  readonly issues: readonly Issue[];
  /** Finds the request in the log of the service; null: whatever responded gave none. */
  readonly requestId: string | null;
  /** For example `POST /connections`. */
  readonly operation: string;

  constructor(operation: string, { status, headers }: Response, text: string) {
    const error = errorIn(text);
    super(error?.message ?? `${operation}: HTTP ${status}, and not as the service responds. Is this its address?`);
    this.operation = operation;
    this.status = status;
    this.code = error?.code ?? null;
    this.issues = error?.issues ?? [];
    this.requestId = headers.get('x-request-id');
  }
}

/** No response came: the service cannot be reached, or took too long. `cause` is what `fetch` says. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
  readonly operation: string;
  /** How often it was tried. */
  readonly attempts: number;

  constructor(operation: string, attempts: number, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${operation}: no response after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} (${reason}).`, {
      cause,
    });
    this.operation = operation;
    this.attempts = attempts;
  }
}

/** Null: not in the form of the service's errors. */
function errorIn(text: string): ErrorBody['error'] | null {
  try {
    const { error } = JSON.parse(text) as Partial<ErrorBody>;
    return typeof error?.message === 'string' ? error : null;
  } catch {
    return null;
  }
}
