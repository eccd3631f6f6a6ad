import * as v from 'valibot';
import { beginAuthorization, finishAuthorization } from '../../control/oauth/oauth.ts';
import { exampleId, pathId } from '../inputs.ts';
import { QueryText } from '../query-inputs.ts';
import { route } from '../route.ts';

const tag = 'oauth';

/** The spec may give the code another name, and may keep other parameters. */
const CallbackQuery = v.pipe(
  v.objectWithRest(
    {
      code: v.optional(
        v.pipe(QueryText, v.description('From the provider; absent only where the spec gives it another name.')),
      ),
      state: v.pipe(QueryText, v.nonEmpty(), v.description('The unchanged `state` of `authorizeUrl`.')),
      iss: v.optional(
        v.pipe(QueryText, v.description("The provider's issuer identifier (RFC 9207), if it sends one.")),
      ),
    },
    v.string(),
  ),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed || dataset.value.code) return;
    const { code: _code, state: _state, iss: _iss, ...others } = dataset.value;
    if (Object.keys(others).length > 0 && !('error' in others)) return;
    const { value: input } = dataset;
    const path = [{ type: 'object', origin: 'value', input, key: 'code', value: undefined }] as const;
    addIssue({ message: 'is missing', input: undefined, path: [...path] });
  }),
  v.transform(({ code, state, iss, ...others }) => ({ code, state, iss, others })),
);

/** Authorizing connections whose spec says `oauth2_authorization_code`. */
export const oauthRoutes = [
  route({
    method: 'get',
    path: '/oauth/:connectionId/authorize',
    summary: 'Begin the authorization of a connection',
    description:
      'Send the customer to `authorizeUrl`: it contains a state that can be used once, within 10 minutes. Register the address of `/oauth/callback` with the provider as redirect URI. A resource with its own `auth` is authorized separately.',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    params: v.object({ connectionId: pathId('con', 'Connection') }),
    query: v.object({
      resource: v.optional(
        v.pipe(QueryText, v.description('Key of a resource whose own `auth` is authorized; absent: that of the spec.')),
      ),
      newAccount: v.pipe(
        v.optional(v.picklist(['true', 'false']), 'false'),
        v.description(
          'Whether the customer may sign in to another account than before: everything is then read from the start.',
        ),
        v.transform((text) => text === 'true'),
      ),
    }),
    status: 200,
    response: v.object({
      authorizeUrl: v.pipe(
        v.string(),
        v.description('The page of the provider where the customer agrees.'),
        v.examples(['https://login.acme.example/authorize?response_type=code&client_id=…&state=…']),
      ),
    }),
    errors: ['not_found', 'conflict'],
    handle: ({ scope, params, query }, deps) =>
      beginAuthorization(deps, scope, {
        ...params,
        resourceKey: query.resource ?? null,
        newAccount: query.newAccount,
      }),
  }),
  route({
    method: 'get',
    path: '/oauth/callback',
    summary: 'Finish the authorization of a connection',
    description:
      'Where the provider sends the customer back to; the signed state is the credential. Stores the tokens, encrypted, and activates the connection once nothing else needs authorization. When the customer declined there is no `code`: 400.',
    tag,
    auth: 'oauth_state',
    query: CallbackQuery,
    status: 200,
    response: v.object({
      connected: v.literal(true),
      connectionId: v.pipe(v.string(), v.examples([exampleId('con')])),
      awaiting: v.exactOptional(
        v.pipe(
          v.array(v.nullable(v.string())),
          v.description(
            'Resources whose own authorization is still missing; null: that of the spec. The status of the connection does not change until the list is empty.',
          ),
          v.examples([['reports']]),
        ),
      ),
    }),
    errors: ['unauthorized', 'plan_limit', 'not_found', 'conflict'],
    handle: ({ query }, deps) => finishAuthorization(deps, query),
  }),
];
