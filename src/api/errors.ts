import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isDatabaseAway } from '../../db/database-away.ts';
import { codeOf, hasCode } from '../core/error-code.ts';
import { AppError, type ErrorCode, type RequestErrorCode } from '../core/errors.ts';
import type { ErrorBody } from '../core/resources/error.ts';

/** The status of each code a request can end with; a new code without a status does not compile. */
export const statusOf = {
  validation: 400,
  unauthorized: 401,
  forbidden: 403,
  plan_limit: 402,
  not_found: 404,
  conflict: 409,
  immutable: 409,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const satisfies Record<RequestErrorCode, ContentfulStatusCode>;

/**
 * Status and code of refusals by the HTTP layer; `null` for the specification's errors without a code, such as invalid
 * JSON.
 */
export const rejections = {
  unreadable: { status: 400, code: null },
  invalid: { status: statusOf.validation, code: 'validation' },
  unknown_path: { status: statusOf.not_found, code: 'not_found' },
  other_method: { status: 405, code: 'validation' },
  too_long: { status: 413, code: 'validation' },
  rate_limited: { status: statusOf.rate_limited, code: 'rate_limited' },
} as const;

/** Status and message of requests that never reach the app; none has a code. */
export const wireRejections = {
  address: { status: 400, message: 'The request line or the Host header is not valid.' },
  not_http: { status: 400, message: 'The request is not valid HTTP/1.1.' },
  late: { status: 408, message: 'The request did not arrive in time.' },
  long_chunk_extensions: { status: 413, message: 'The chunk extensions are too long.' },
  long_headers: { status: 431, message: 'The headers are too long.' },
} as const;

interface RejectionOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** A refusal by the HTTP layer, before the service: the status tells more than a code. */
export class HttpRejection extends Error {
  override readonly name = 'HttpRejection';
  readonly status: (typeof rejections)[keyof typeof rejections]['status'];
  readonly code: (typeof rejections)[keyof typeof rejections]['code'];
  readonly headers: Readonly<Record<string, string>>;

  constructor(reason: keyof typeof rejections, message: string, { headers = {}, cause }: RejectionOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    const { status, code } = rejections[reason];
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export interface ErrorResponse {
  readonly status: ContentfulStatusCode;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
  /** True for service errors: the cause is logged and never part of the response. */
  readonly unexpected: boolean;
}

/**
 * Default headers of some codes. A database that fails over is back within seconds.
 * `rate_limited` means here that too many runs are queued: one may have ended after 10 s.
 * An error that knows a better delay carries it; the rejections of gates set their own `retry-after`.
 */
const headersOf: Partial<Record<RequestErrorCode, Readonly<Record<string, string>>>> = {
  unauthorized: { 'www-authenticate': 'Bearer' },
  rate_limited: { 'retry-after': '10' },
  unavailable: { 'retry-after': '5' },
};

/** Text of foreign errors never leaves the process. */
export function toErrorResponse(error: unknown, requestId: string): ErrorResponse {
  if (error instanceof HttpRejection) {
    const code = error.code === null ? {} : { code: error.code };
    return response(error.status, { ...code, message: error.message }, { headers: error.headers });
  }
  if (error instanceof AppError && isRequestCode(error.code) && error.code !== 'internal') {
    const issues = error.issues === undefined ? {} : { issues: error.issues.map((issue) => ({ ...issue })) };
    const headers = { ...headersOf[error.code], ...retryAfter(error) };
    return response(statusOf[error.code], { code: error.code, message: error.message, ...issues }, { headers });
  }
  if (isDatabaseAway(error)) {
    const code = 'unavailable';
    const message =
      'The database of the service does not respond: send the request again after the time in Retry-After.';
    return response(statusOf[code], { code, message }, { headers: headersOf[code] ?? {}, unexpected: true });
  }
  const code = codeOfSqlState(error);
  if (code === 'validation') {
    return response(statusOf[code], {
      code,
      message: 'The request contains a value that cannot be stored.',
      issues: [],
    });
  }
  if (code === 'conflict')
    return response(statusOf[code], {
      code,
      message: 'A resource with the same name exists already: choose another name.',
    });
  const message = `Unexpected error. Quote request id ${requestId} when you report it.`;
  return response(statusOf.internal, { code: 'internal', message }, { unexpected: true });
}

const retryAfter = ({ retryAfterSeconds: seconds }: AppError) =>
  seconds === undefined ? {} : { 'retry-after': String(seconds) };

function response(
  status: ContentfulStatusCode,
  error: ErrorBody['error'],
  { headers = {}, unexpected = false }: Partial<Pick<ErrorResponse, 'headers' | 'unexpected'>> = {},
): ErrorResponse {
  return { status, body: { error }, headers, unexpected };
}

// Codes of runs have no status: src/control translates those that can reach a request.
const isRequestCode = (code: ErrorCode): code is RequestErrorCode => Object.hasOwn(statusOf, code);

/** The last check behind the gates: input that PostgreSQL refuses is the caller's error, not the service's. */
function codeOfSqlState(error: unknown): 'validation' | 'conflict' | null {
  if (hasCode(error, '23505')) return 'conflict';
  return /^(?:22...|5400[01]|08P01)$/.test(codeOf(error)) ? 'validation' : null;
}
