import type { RequestErrorCode } from '../../core/errors.ts';
import type { ErrorBody } from '../../core/resources/error.ts';
import { statusOf } from '../errors.ts';
import type { Route } from '../route.ts';

type Json = Readonly<Record<string, unknown>>;

/** The error responses of an endpoint by status: its own, and those that its kind of input can cause. */
export function errorsOf(route: Route): Json {
  const reads = route.body !== undefined || route.query !== undefined || route.repeated !== undefined;
  const codes = new Set<RequestErrorCode>([
    ...(reads ? (['validation'] as const) : []),
    ...(route.auth === 'api_key' || route.auth === 'embed_token' ? (['unauthorized', 'rate_limited'] as const) : []),
    ...route.errors,
    ...(route.repeated ? (['conflict'] as const) : []),
    'internal',
  ]);
  const byStatus = Map.groupBy(codes, (code) => statusOf[code]);
  const responses = [...byStatus].map(([status, same]): [string, Json] => [
    String(status),
    responseOf(same, status === 400 ? withoutCode(route) : null),
  ]);
  return { ...Object.fromEntries(responses), ...(route.body ? { '413': tooLong } : {}) };
}

const meanings = {
  validation: 'The input breaks its rules; `issues` names each place.',
  unauthorized: 'The credential is missing, malformed, revoked or expired.',
  plan_limit: "The org's plan does not allow more.",
  not_found: 'The resource is absent or belongs to another org.',
  conflict: 'The state of the resource forbids the action.',
  immutable: 'A published version cannot be changed.',
  rate_limited:
    'Too many requests, if the deployment has a limit, or too many concurrent ones that check specs, evaluate expressions or call other servers; `Retry-After` says how many seconds to wait.',
  internal: 'Unexpected error of the service.',
} as const satisfies Record<RequestErrorCode, string>;

/** The examples as they are sent. */
const examples = {
  validation: {
    message: 'The body is not valid.',
    issues: [{ code: 'schema', path: 'displayName', message: 'is required' }],
  },
  unauthorized: {
    message: 'A valid API key is required: send it as "Authorization: Bearer ck_…" or in the header x-api-key.',
  },
  plan_limit: { message: 'The plan allows 3 active connections. Pause one, or raise the plan.' },
  not_found: { message: 'Connection not found' },
  conflict: { message: 'The connection is paused; activate it before a sync' },
  immutable: { message: 'A published version never changes: create a new version instead.' },
  rate_limited: { message: 'Too many requests: wait 1 s, as Retry-After says, and send fewer requests.' },
  internal: { message: 'Unexpected error. Quote request id 6f1c… when you report it.' },
} as const satisfies Record<RequestErrorCode, ErrorBody['error']>;

/** A refusal before the input is checked; the specification gives it no code. */
function withoutCode({ body, query }: Route): string | null {
  if (body) return 'The body is not JSON (line 1 column 8).';
  return query ? 'The query parameter connectionId is required.' : null;
}

/** `uncoded`: the message of an error without a code that has the same status; null when there is none. */
function responseOf(codes: readonly RequestErrorCode[], uncoded: string | null = null): Json {
  const coded = codes.map((code): [string, Json] => [code, { value: { error: { code, ...examples[code] } } }]);
  const others = uncoded === null ? [] : [['without code', { value: { error: { message: uncoded } } }] as const];
  const descriptions = codes.map((code) => `\`${code}\`: ${meanings[code]}`);
  return {
    description: [...descriptions, ...others.map(() => 'Without a code: the request cannot be read.')].join(' '),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/ErrorBody' },
        examples: Object.fromEntries([...coded, ...others]),
      },
    },
  };
}

const tooLong: Json = {
  description: 'The body is longer than 1 MiB.',
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/ErrorBody' },
      example: { error: { code: 'validation', message: 'The body is longer than 1048576 bytes.' } },
    },
  },
};
