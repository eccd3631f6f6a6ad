import * as v from 'valibot';
import { findConnection, listConnections } from '../../../db/queries/connections.ts';
import { activateConnection, createConnection, pauseConnection } from '../../control/connections.ts';
import { requestRun } from '../../control/runs.ts';
import { notFound } from '../../core/errors.ts';
import { ConnectionRow, JsonObject, RunRow } from '../../core/rows.ts';
import { bodyId, DisplayText, idParams, NaturalKey } from '../inputs.ts';
import { route } from '../route.ts';

const noun = 'Connection';
const Params = idParams('con', noun);
const tag = 'connections';

/** Customers' configured instances of specs. */
export const connectionRoutes = [
  route({
    method: 'get',
    path: '/connections',
    summary: 'List the connections',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(ConnectionRow),
    errors: [],
    handle: ({ scope }, { db }) => listConnections(db, scope),
  }),
  route({
    method: 'post',
    path: '/connections',
    summary: 'Create a connection',
    description: 'It starts as `pending`: activate it before the first sync. Secrets are encrypted and never returned.',
    tag,
    auth: 'api_key',
    body: v.object({
      workspaceId: bodyId('ws'),
      specKey: NaturalKey,
      specVersion: v.pipe(NaturalKey, v.description('A published version.')),
      displayName: DisplayText,
      externalCustomerId: v.nullish(v.pipe(NaturalKey, v.description('Your id of the end customer.')), null),
      params: v.pipe(JsonObject, v.description("Values of the spec's params that are not secret.")),
      secrets: v.pipe(JsonObject, v.description("Values of the spec's secret params.")),
    }),
    bodyExample: {
      workspaceId: 'ws_01kaemm0dce7xb1k4c1m1f2p3q',
      specKey: 'acme-crm',
      specVersion: '1.0.0',
      displayName: 'Acme of Example Ltd',
      externalCustomerId: 'customer-42',
      params: {},
      secrets: { token: 'the-customers-token' },
    },
    status: 201,
    response: ConnectionRow,
    errors: ['validation', 'not_found', 'conflict'],
    repeated: 'same_answer',
    handle: ({ scope, body }, deps) => createConnection(deps, scope, body),
  }),
  route({
    method: 'get',
    path: '/connections/:id',
    summary: 'Read a connection',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: ConnectionRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => {
      const connection = await findConnection(db, scope, params.id);
      if (!connection) throw notFound(noun);
      return connection;
    },
  }),
  route({
    method: 'post',
    path: '/connections/:id/sync',
    summary: 'Start a sync of one resource',
    description: 'Accepted work: poll `GET /runs/:id`. A run on a busy resource waits as `queued`, first in first out.',
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({ resource: v.pipe(v.string(), v.minLength(1), v.description('Key of the resource.')) }),
    bodyExample: { resource: 'contacts' },
    status: 202,
    response: RunRow,
    errors: ['validation', 'not_found', 'conflict'],
    repeated: 'same_answer',
    handle: ({ scope, params, body }, deps) =>
      requestRun(deps, scope, { connectionId: params.id, resourceKey: body.resource, trigger: 'manual' }),
  }),
  route({
    method: 'post',
    path: '/connections/:id/activate',
    summary: 'Set a connection active',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: ConnectionRow,
    errors: ['not_found', 'plan_limit'],
    handle: ({ scope, params }, deps) => activateConnection(deps, scope, params.id),
  }),
  route({
    method: 'post',
    path: '/connections/:id/pause',
    summary: 'Pause a connection',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: ConnectionRow,
    errors: ['not_found'],
    handle: ({ scope, params }, deps) => pauseConnection(deps, scope, params.id),
  }),
];
