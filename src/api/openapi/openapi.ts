/**
 * The OpenAPI document, from the routes that serve the requests: it cannot say anything else than they do. This room
 * decides no behaviour.
 */

import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { ApiKeyRow } from '../../core/resources/api-key.ts';
import { ConnectionRow } from '../../core/resources/connection.ts';
import { ErrorBody } from '../../core/resources/error.ts';
import { FreshnessView } from '../../core/resources/freshness.ts';
import { QuarantineRow } from '../../core/resources/quarantine.ts';
import { CallLogRow, RunRow, RunStats } from '../../core/resources/run.ts';
import { Issue, SpecRow, SpecUpgrade, SpecVersionRow, ValidationResult } from '../../core/resources/spec.ts';
import { WebhookDeliveryDetail, WebhookDeliveryView } from '../../core/resources/webhook-delivery.ts';
import {
  EventTypeRow,
  WebhookEndpointRow,
  WebhookEndpointStats,
  WebhookRecovery,
} from '../../core/resources/webhook-endpoint.ts';
import { WorkspaceRow } from '../../core/resources/workspace.ts';
import { embedTokenHeader } from '../embed-auth.ts';
import { Health, NotReady, Ready } from '../health.ts';
import type { Route } from '../route.ts';
import { routes } from '../routes/index.ts';
import { errorsOf } from './errors.ts';
import { webhooksOf } from './events.ts';
import { connectorSpecSchemas } from './spec.ts';

type Json = Readonly<Record<string, unknown>>;

/** The OpenAPI 3.1 document, generated from the declarations that serve the requests. */
export function renderOpenApi(): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Connector Sync Service',
      version: '1',
      description:
        'Syncs data from external systems into destinations by declarative connector definitions. Every list is complete, except the log of webhook deliveries, and carries `X-Total-Count`; every response carries `X-Request-Id`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: { ...pathsOf(routes), ...healthPaths() },
    webhooks: webhooksOf((schema) => schemaOf(schema, 'output')),
    components: {
      schemas: { ...toJsonSchemaDefs(definitions, conversion('output')), ...connectorSpecSchemas() },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `ck_…`. The preferred way.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key: `ck_…`.' },
        embedToken: { type: 'apiKey', in: 'header', name: embedTokenHeader, description: 'Of `POST /tokens/embed`.' },
      },
    },
  };
}

/** Schemas with a name of their own in the document. */
const definitions = {
  ConnectionRow,
  SpecUpgrade,
  SpecVersionRow,
  SpecRow,
  Issue,
  ValidationResult,
  RunStats,
  RunRow,
  CallLogRow,
  QuarantineRow,
  WebhookDeliveryView,
  WebhookDeliveryDetail,
  WebhookEndpointRow,
  WebhookEndpointStats,
  WebhookRecovery,
  FreshnessView,
  WorkspaceRow,
  ApiKeyRow,
  EventTypeRow,
  ErrorBody,
};

function conversion(typeMode: 'input' | 'output'): ConversionConfig {
  return {
    typeMode,
    target: 'draft-2020-12',
    // Checks in code (id forms, byte lengths) have no JSON Schema; descriptions and examples cover them.
    errorMode: 'ignore',
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  };
}

function schemaOf(schema: v.GenericSchema, typeMode: 'input' | 'output'): Json {
  const {
    $schema: _dialect,
    $defs: _definitions,
    ...json
  } = toJsonSchema(schema, { ...conversion(typeMode), definitions });
  return json;
}

function pathsOf(all: readonly Route[]): Json {
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
      ...(route.repeated ? [idempotencyKey] : []),
    ],
    ...(route.body ? { requestBody: requestBodyOf(route, schemaOf(route.body, 'input')) } : {}),
    responses: { [route.status]: successOf(route), ...errorsOf(route) },
  };
}

/** An API key unless an endpoint says otherwise. */
function securityOf({ auth }: Route): Json {
  if (auth === 'api_key') return {};
  return { security: auth === 'embed_token' ? [{ embedToken: [] }] : [] };
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

const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes the request safe to repeat for 24 hours: a repeat returns the first response, with `Idempotent-Replayed: true`. Another body under the same key is a conflict.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const requestBodyOf = ({ bodyName, bodyExample, bodyOptional }: Route, schema: Json): Json => ({
  required: bodyOptional !== true,
  content: {
    'application/json': {
      schema: bodyName === undefined ? schema : { $ref: `#/components/schemas/${bodyName}` },
      ...(bodyExample === undefined ? {} : { example: bodyExample }),
    },
  },
});

const requestId: Json = {
  description: 'Yours if you sent a valid one; each log line of the request contains it.',
  schema: { type: 'string' },
};
const total: Json = { description: 'How many elements the list has.', schema: { type: 'integer' } };
const replayed: Json = {
  description: 'Present when the response is that of an earlier request with the same `Idempotency-Key`.',
  schema: { const: 'true' },
};

function successOf(route: Route): Json {
  const isList = route.response.type === 'array';
  return {
    description: isList ? 'The list.' : 'Success.',
    headers: {
      'X-Request-Id': requestId,
      ...(isList ? { 'X-Total-Count': total } : {}),
      ...(route.repeated === 'same_answer' ? { 'Idempotent-Replayed': replayed } : {}),
      ...headersOf(route),
    },
    content: { 'application/json': { schema: schemaOf(route.response, 'output') } },
  };
}

const headersOf = ({ headers = {} }: Route): Json =>
  Object.fromEntries(
    Object.entries(headers).map(([name, { description, values }]) => [name, { description, schema: { enum: values } }]),
  );

/** The probes are outside the versioned interface and need no credential. */
function healthPaths(): Json {
  const probe = (operationId: string, summary: string, responses: Json): Json => ({
    servers: [{ url: '/api' }],
    get: { operationId, summary, tags: ['health'], security: [], responses },
  });
  const response = (description: string, schema: v.GenericSchema): Json => ({
    description,
    content: { 'application/json': { schema: schemaOf(schema, 'output') } },
  });
  return {
    '/health': probe('getHealth', 'Check that the process responds', { '200': response('It does.', Health) }),
    '/health/ready': probe('getHealthReady', 'Check whether the process can serve requests', {
      '200': response('They can.', Ready),
      '503': response('Not ready; `detail` says why.', NotReady),
    }),
  };
}
