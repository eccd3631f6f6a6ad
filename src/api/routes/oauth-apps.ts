import * as v from 'valibot';
import { findOauthApp, listOauthApps } from '../../../db/queries/orgs/oauth-apps.ts';
import { createOauthApp, deleteOauthApp, updateOauthApp } from '../../control/oauth/apps.ts';
import { secretCharsMax } from '../../core/crypto/secret-limit.ts';
import { found } from '../../core/errors.ts';
import { SpecKey } from '../../core/json/property-names.ts';
import { OauthAppRow, OauthAppWritten } from '../../core/resources/oauth-app.ts';
import { Deleted, deleted } from '../../core/resources/values.ts';
import { WorkspaceKind } from '../../core/resources/workspace.ts';
import { idParams } from '../inputs.ts';
import { route } from '../route.ts';

const noun = 'OAuth app';
const Params = idParams('oap', noun);
const tag = 'oauth apps';

const ClientId = v.pipe(v.string(), v.regex(/\S/, 'expected at least one character'), v.maxLength(500));
const ClientSecret = v.nullable(
  v.pipe(v.string(), v.minLength(1), v.maxLength(secretCharsMax), v.description('Never shown. Null: a public client.')),
);
const AllowReauthorization = v.optional(
  v.pipe(
    v.boolean(),
    v.description('Whether customers whose connections are authorized with another client id may have to do so again.'),
  ),
  false,
);

export const oauthAppRoutes = [
  route({
    method: 'post',
    path: '/oauth-apps',
    summary: 'Create an OAuth app of the org',
    description:
      'A client at a provider for the connections of all customers: a spec names it by `auth.app`. The app of the kind of a connection’s workspace counts before the one without a kind. Register the address of `/oauth/callback` with the provider as redirect URI.',
    tag,
    auth: 'api_key',
    body: v.object({
      key: SpecKey,
      workspaceKind: v.nullish(WorkspaceKind, null),
      clientId: ClientId,
      clientSecret: v.optional(ClientSecret, null),
      allowReauthorization: AllowReauthorization,
    }),
    bodyExample: { key: 'acme', clientId: '0oa8f2acme', clientSecret: 'the-secret-of-your-client' },
    status: 201,
    response: OauthAppWritten,
    errors: ['conflict'],
    repeated: 'same_response',
    handle: ({ scope, body }, deps) => createOauthApp(deps, scope, body),
  }),
  route({
    method: 'get',
    path: '/oauth-apps',
    summary: 'List the OAuth apps of the org',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(OauthAppRow),
    errors: [],
    handle: ({ scope }, { db }) => listOauthApps(db, scope),
  }),
  route({
    method: 'get',
    path: '/oauth-apps/:id',
    summary: 'Read an OAuth app of the org',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: OauthAppRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => found(await findOauthApp(db, scope, params.id), noun),
  }),
  route({
    method: 'patch',
    path: '/oauth-apps/:id',
    summary: 'Change an OAuth app of the org',
    description:
      'Absent fields do not change. The next token request of each connection uses the new secret, also in a current run. Another `clientId` ends the grants of the connections that use the app: 409 unless `allowReauthorization` is true. Connections in error are tested at once.',
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({
      clientId: v.optional(ClientId),
      clientSecret: v.optional(ClientSecret),
      allowReauthorization: AllowReauthorization,
    }),
    bodyExample: { clientSecret: 'the-next-secret-of-your-client' },
    status: 200,
    response: OauthAppWritten,
    errors: ['not_found', 'conflict'],
    handle: ({ scope, params, body }, deps) => updateOauthApp(deps, scope, { ...body, id: params.id }),
  }),
  route({
    method: 'delete',
    path: '/oauth-apps/:id',
    summary: 'Delete an OAuth app of the org',
    description: 'Refused with 409 while the current spec of a connection uses it.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: Deleted,
    errors: ['not_found', 'conflict'],
    handle: ({ scope, params }, deps) => deleteOauthApp(deps, scope, params.id).then(deleted),
  }),
];
