import { type RequestErrorCode, schemaIssue } from '../../core/errors.ts';
import type { ErrorBody } from '../../core/resources/error.ts';
import { rejections, statusOf } from '../errors.ts';
import type { Route } from '../route.ts';
import { refTo } from './schemas.ts';

type Json = Readonly<Record<string, unknown>>;

export const errorsOf = (route: Route): Json =>
  Object.fromEntries(responsesOf(route).map(([status, { name }]) => [status, refTo('responses', name)]));

export const errorResponses = (routes: readonly Route[]): Json =>
  Object.fromEntries(routes.flatMap(responsesOf).map(([, { name, response }]) => [name, response]));

interface NamedResponse {
  readonly name: string;
  readonly response: Json;
}

/** The endpoint's own errors and those that its kind of input can cause. */
function responsesOf(route: Route): readonly (readonly [status: string, NamedResponse])[] {
  const reads = route.body !== undefined || route.query !== undefined || route.repeated !== undefined;
  const codes = new Set<RequestErrorCode>([
    ...(reads ? (['validation'] as const) : []),
    ...(['api_key', 'embed_token', 'connect_token'].includes(route.auth)
      ? (['unauthorized', 'rate_limited'] as const)
      : []),
    ...(route.auth === 'embed_token' ? (['forbidden'] as const) : []),
    ...route.errors,
    ...(route.repeated ? (['conflict'] as const) : []),
    ...(route.costly ? (['rate_limited'] as const) : []),
    'internal',
    'unavailable',
  ]);
  const byStatus = Map.groupBy(codes, (code) => statusOf[code]);
  const responses = [...byStatus].map(
    ([status, same]) =>
      [String(status), responseOf(same, status === statusOf.validation ? inputOf(route) : null)] as const,
  );
  if (!route.body) return responses;
  return [...responses, [String(rejections.too_long.status), { name: 'BodyTooLong', response: tooLong }]];
}

const meanings = {
  validation: 'The input is not valid; `issues` lists each place.',
  unauthorized: 'The credential is missing, malformed, revoked or expired.',
  forbidden: 'The embed token lacks the scope that the message names.',
  plan_limit: "The org's plan does not allow more.",
  not_found: 'The resource is absent or belongs to another org.',
  conflict: 'The state of the resource forbids the action.',
  immutable: 'A published version cannot be changed.',
  rate_limited:
    'Too many requests: the rate limit of the deployment, the limit of concurrent costly requests or a limit of the org is reached. `Retry-After` gives the seconds to wait.',
  internal: 'Unexpected error of the service.',
  unavailable: 'The database of the service does not respond. `Retry-After` gives the seconds to wait.',
} as const satisfies Record<RequestErrorCode, string>;

const examples = {
  validation: {
    message: 'The body is not valid.',
    issues: [schemaIssue('displayName', 'is required')],
  },
  unauthorized: {
    message: 'A valid API key is required: send it as "Authorization: Bearer ck_…" or in the header x-api-key.',
  },
  forbidden: {
    message:
      'This embed token lacks the scope "sync": let your server name it in `scopes` of POST /api/v1/tokens/embed.',
  },
  plan_limit: { message: 'The plan allows 3 active connections. Pause one, or raise the plan.' },
  not_found: { message: 'Connection not found.' },
  conflict: { message: 'The connection is paused; activate it before a sync.' },
  immutable: { message: 'A published version never changes: create a new version instead.' },
  rate_limited: { message: 'Too many requests: wait 1 s, as Retry-After says, and send fewer requests.' },
  internal: { message: 'Unexpected error. Quote request id 6f1c… when you report it.' },
  unavailable: {
    message: 'The database of the service does not respond: send the request again after the time in Retry-After.',
  },
} as const satisfies Record<RequestErrorCode, ErrorBody['error']>;

/** Input that can be refused before validation; the specification gives that error no code. */
type Input = 'Body' | 'Query';

const uncoded: Readonly<Record<Input, string>> = {
  Body: 'The body is not JSON (line 1 column 8).',
  Query: 'The query parameter connectionId is required.',
};

function inputOf({ body, query }: Route): Input | null {
  if (body) return 'Body';
  return query ? 'Query' : null;
}

/** For example `NotFound`, or `ValidationOfBody` with the error without a code. */
const nameOf = (codes: readonly RequestErrorCode[], input: Input | null): string =>
  codes.map((code) => code.replaceAll(/(?:^|_)(\w)/g, (_all, letter) => letter.toUpperCase())).join('Or') +
  (input === null ? '' : `Of${input}`);

/** With `input`, also refused without a code, under the same status. */
function responseOf(codes: readonly RequestErrorCode[], input: Input | null): NamedResponse {
  const coded = codes.map((code): [string, Json] => [code, { value: { error: { code, ...examples[code] } } }]);
  const others = input === null ? [] : [['without code', { value: { error: { message: uncoded[input] } } }] as const];
  const descriptions = codes.map((code) => `\`${code}\`: ${meanings[code]}`);
  const response = {
    description: [...descriptions, ...others.map(() => 'Without a code: the request cannot be read.')].join(' '),
    headers: { Link: refTo('headers', 'Help') },
    content: {
      'application/json': { schema: errorBody, examples: Object.fromEntries([...coded, ...others]) },
    },
  };
  return { name: nameOf(codes, input), response };
}

const errorBody = refTo('schemas', 'ErrorBody');

const tooLong: Json = {
  description: 'The body is longer than 1 MiB.',
  headers: { Link: refTo('headers', 'Help') },
  content: {
    'application/json': {
      schema: errorBody,
      example: { error: { code: 'validation', message: 'The body is longer than 1048576 bytes.' } },
    },
  },
};
