import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { stringify } from 'yaml';
import type { Route } from '../route.ts';
import { errorsOf } from './errors.ts';
import { conversion, refTo, schemaOf } from './schemas.ts';

type Json = Readonly<Record<string, unknown>>;

export function pathsOf(all: readonly Route[]): Json {
  const byPath = Map.groupBy(all, ({ path }) => path.replace(/:(\w+)/g, '{$1}'));
  const entries = [...byPath].map(([path, methods]): [string, Json] => [
    path,
    Object.fromEntries(methods.map((route) => [route.method, operationOf(route)])),
  ]);
  return Object.fromEntries(entries);
}

function operationOf(route: Route): Json {
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    ...securityOf(route),
    parameters: [
      ...parametersOf(route.params, 'path'),
      ...parametersOf(route.query, 'query'),
      ...(route.repeated ? [refTo('parameters', 'IdempotencyKey')] : []),
    ],
    ...(route.body ? { requestBody: requestBodyOf(route, schemaOf(route.body, 'input')) } : {}),
    responses: { [route.status]: successOf(route), ...redirectOf(route), ...errorsOf(route) },
  };
}

function securityOf({ auth }: Route): Json {
  if (auth === 'api_key') return {};
  const scheme = { embed_token: 'embedToken', connect_token: 'connectToken', oauth_state: null, none: null }[auth];
  return { security: scheme === null ? [] : [{ [scheme]: [] }] };
}

/** For example `postConnectionsByIdSync`. */
const operationIdOf = ({ method, path }: Route): string =>
  method +
  path.replace(
    /[/-]+(:?)(\w)(\w*)/g,
    (_all, colon, first, rest) => `${colon ? 'By' : ''}${first.toUpperCase()}${rest}`,
  );

function parametersOf(schema: v.GenericSchema | undefined, place: 'path' | 'query'): readonly Json[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = toJsonSchema(schema, conversion('input'));
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: property,
  }));
}

function requestBodyOf({ bodyName, bodyExample, bodyOptional, yaml }: Route, schema: Json): Json {
  const body = { schema: bodyName === undefined ? schema : refTo('schemas', bodyName) };
  const shown = (example: unknown) => (bodyExample === undefined ? body : { ...body, example });
  return {
    required: bodyOptional !== true,
    content: {
      'application/json': shown(bodyExample),
      ...(yaml ? { 'application/yaml': shown(stringify(bodyExample)) } : {}),
    },
  };
}

function successOf(route: Route): Json {
  const isList = route.response.type === 'array';
  return {
    description: isList ? 'The list.' : 'Success.',
    headers: {
      'X-Request-Id': refTo('headers', 'RequestId'),
      ...(isList ? { 'X-Total-Count': refTo('headers', 'TotalCount') } : {}),
      ...(route.repeated === 'same_response' ? { 'Idempotent-Replayed': refTo('headers', 'IdempotentReplayed') } : {}),
      ...headersOf(route),
    },
    content: { 'application/json': { schema: schemaOf(route.response, 'output') } },
  };
}

function redirectOf({ redirects }: Route): Json {
  if (redirects === undefined) return {};
  const location = { description: 'Where the browser goes on.', schema: { type: 'string', format: 'uri' } };
  return {
    '303': { description: redirects, headers: { 'X-Request-Id': refTo('headers', 'RequestId'), Location: location } },
  };
}

const headersOf = ({ headers = {} }: Route): Json =>
  Object.fromEntries(
    Object.entries(headers).map(([name, { description, values }]) => [
      name,
      { description, schema: values === undefined ? { type: 'string' } : { enum: values } },
    ]),
  );

export const namedParameters: Json = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Makes the request safe to repeat for 24 hours: a repeat returns the first response, with `Idempotent-Replayed: true`. Another body under the same key is a conflict, and so is a repeat whose response is longer than 8 KiB and not a copy of its body.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
};

export const namedHeaders: Json = {
  RequestId: {
    description: 'Yours if you sent a valid one; each log line of the request contains it.',
    schema: { type: 'string' },
  },
  TotalCount: { description: 'How many elements the list has.', schema: { type: 'integer' } },
  Help: {
    description: 'The part of the page about errors, on this server, that says what the code means and what to do.',
    schema: { type: 'string', examples: ['</api/errors.md#not_found>; rel="help"'] },
  },
  IdempotentReplayed: {
    description: 'Present when the response is that of an earlier request with the same `Idempotency-Key`.',
    schema: { const: 'true' },
  },
};
