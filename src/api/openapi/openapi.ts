/** The OpenAPI document, generated from the routes that serve the requests; this room decides no behavior. */

import type * as v from 'valibot';
import { connectTokenHeader } from '../connect-auth.ts';
import { embedTokenHeader } from '../embed-auth.ts';
import { Health, NotReady, Ready } from '../health.ts';
import { routes } from '../routes/index.ts';
import { errorResponses } from './errors.ts';
import { receiverResponses, webhookHeaders, webhooks } from './events.ts';
import { namedHeaders, namedParameters, pathsOf } from './operations.ts';
import { namedSchemas, schemaOf } from './schemas.ts';
import { connectorSpecSchemas } from './spec.ts';

type Json = Readonly<Record<string, unknown>>;

export function renderOpenApi(): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Connector Sync Service',
      version: '1',
      description:
        'Syncs data from external systems into destinations by declarative connector definitions. Every list is complete, except the log of webhook deliveries, and carries `X-Total-Count`; every response carries `X-Request-Id`. A request may name a resource `resource` or `resourceKey`, and a version `specVersion` or `toVersion`, wherever one of the two is documented.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: { ...pathsOf(routes), ...healthPaths() },
    webhooks: webhooks(),
    components: {
      schemas: { ...namedSchemas(), ...connectorSpecSchemas() },
      responses: { ...errorResponses(routes), ...receiverResponses },
      parameters: { ...namedParameters, ...webhookHeaders },
      headers: namedHeaders,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `ck_…`. The preferred way.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key: `ck_…`.' },
        connectToken: {
          ...{ type: 'apiKey', in: 'header', name: connectTokenHeader },
          description: 'Of `POST /connect-sessions`, for one session.',
        },
        embedToken: { type: 'apiKey', in: 'header', name: embedTokenHeader, description: 'Of `POST /tokens/embed`.' },
      },
    },
  };
}

/** Probes are outside the versioned interface and need no credential. */
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
    '/health': probe('getHealth', 'Check that the process responds', {
      '200': response('The process responds.', Health),
    }),
    '/health/ready': probe('getHealthReady', 'Check whether the process can serve requests', {
      '200': response('The process can serve requests.', Ready),
      '503': response('Not ready; `detail` says why.', NotReady),
    }),
  };
}
