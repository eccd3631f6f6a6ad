import * as v from 'valibot';
import { listApiKeys } from '../../../db/queries/orgs/api-keys.ts';
import { createApiKey, revokeApiKey } from '../../control/orgs/api-keys.ts';
import { ApiKeyRow } from '../../core/resources/api-key.ts';
import { idParams } from '../inputs.ts';
import { instant } from '../instant.ts';
import { route } from '../route.ts';

const tag = 'api keys';

export const apiKeyRoutes = [
  route({
    method: 'post',
    path: '/api-keys',
    summary: 'Create an API key',
    description:
      'It takes the workspace, the scopes and the expiry over from the key that creates it; it may expire earlier. Every key can do everything in its org.',
    tag,
    auth: 'api_key',
    body: v.object({
      expiresAt: v.nullish(
        instant(
          'When the key expires, no later than the one that creates it. Null: as that one. An expired key gets 401.',
        ),
        null,
      ),
    }),
    bodyOptional: true,
    bodyExample: { expiresAt: '2099-01-01T00:00:00Z' },
    status: 201,
    response: v.object({
      id: v.string(),
      key: v.pipe(v.string(), v.description('Shown once; it cannot be recovered.')),
    }),
    errors: [],
    repeated: 'conflict',
    handle: ({ scope, caller, body }, deps) => createApiKey(deps, scope, caller.grant, body.expiresAt),
  }),
  route({
    method: 'get',
    path: '/api-keys',
    summary: 'List the API keys, revoked ones too',
    description:
      'One that was revoked or has expired is listed for as long as the deployment keeps it: 90 days by default.',
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
    query: v.object({
      withDescendants: v.pipe(
        v.optional(v.picklist(['true', 'false']), 'false'),
        v.description('Whether the keys that it has created are revoked too, those that they have created, and so on.'),
        v.transform((text) => text === 'true'),
      ),
    }),
    status: 200,
    response: ApiKeyRow,
    errors: ['not_found'],
    handle: ({ scope, params, query }, deps) => revokeApiKey(deps, scope, { ...params, ...query }),
  }),
];
