import * as v from 'valibot';
import { listApiKeys } from '../../../db/queries/orgs/api-keys.ts';
import { createApiKey, revokeApiKey } from '../../control/orgs/api-keys.ts';
import { ApiKeyRow } from '../../core/resources/api-key.ts';
import { idParams } from '../inputs.ts';
import { route } from '../route.ts';

const tag = 'api keys';

/** Credentials of the org. */
export const apiKeyRoutes = [
  route({
    method: 'post',
    path: '/api-keys',
    summary: 'Create an API key',
    description:
      'It takes the workspace, the scopes and the expiry over from the key that creates it. Every key can do everything in its org.',
    tag,
    auth: 'api_key',
    status: 201,
    response: v.object({
      id: v.string(),
      key: v.pipe(v.string(), v.description('Shown once; it cannot be recovered.')),
    }),
    errors: [],
    repeated: 'conflict',
    handle: ({ scope, caller }, deps) => createApiKey(deps, scope, caller.grant),
  }),
  route({
    method: 'get',
    path: '/api-keys',
    summary: 'List the API keys, revoked ones too',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(ApiKeyRow),
    errors: [],
    handle: ({ scope }, { db }) => listApiKeys(db, scope),
  }),
  route({
    method: 'delete',
    path: '/api-keys/:id',
    summary: 'Revoke an API key',
    tag,
    auth: 'api_key',
    params: idParams('key', 'API key'),
    status: 200,
    response: ApiKeyRow,
    errors: ['not_found'],
    handle: ({ scope, params }, deps) => revokeApiKey(deps, scope, params.id),
  }),
];
