import * as v from 'valibot';
import { beginAuthorization, finishAuthorization } from '../../control/oauth.ts';
import { exampleId, pathId } from '../inputs.ts';
import { QueryText } from '../query-inputs.ts';
import { route } from '../route.ts';

const tag = 'oauth';

/** Authorizing connections whose spec says `oauth2_authorization_code`. */
export const oauthRoutes = [
  route({
    method: 'get',
    path: '/oauth/:connectionId/authorize',
    summary: 'Begin the authorization of a connection',
    description:
      'Send the customer to `authorizeUrl`: it holds a state for one use, good for 10 minutes. Register the address of `/oauth/callback` with the provider as redirect URI.',
    tag,
    auth: 'api_key',
    params: v.object({ connectionId: pathId('con', 'Connection') }),
    status: 200,
    response: v.object({
      authorizeUrl: v.pipe(
        v.string(),
        v.description('The page of the provider where the customer agrees.'),
        v.examples(['https://login.acme.example/authorize?response_type=code&client_id=…&state=…']),
      ),
    }),
    errors: ['not_found', 'conflict'],
    handle: ({ scope, params }, deps) => beginAuthorization(deps, scope, params.connectionId),
  }),
  route({
    method: 'get',
    path: '/oauth/callback',
    summary: 'Finish the authorization of a connection',
    description:
      'Where the provider sends the customer back to; the signed state is the credential. Stores the tokens, encrypted, and sets the connection active. When the customer refused there is no `code`: 400.',
    tag,
    auth: 'none',
    query: v.object({
      code: v.pipe(QueryText, v.minLength(1), v.description('From the provider.')),
      state: v.pipe(QueryText, v.minLength(1), v.description('As it was in `authorizeUrl`.')),
      iss: v.optional(
        v.pipe(QueryText, v.description("The provider's issuer identifier (RFC 9207), if it sends one.")),
      ),
    }),
    status: 200,
    response: v.object({
      connected: v.literal(true),
      connectionId: v.pipe(v.string(), v.examples([exampleId('con')])),
    }),
    errors: ['unauthorized', 'plan_limit', 'not_found', 'conflict'],
    handle: ({ query }, deps) => finishAuthorization(deps, query),
  }),
];
