import * as v from 'valibot';
import { readAuthorizationSettings } from '../../../db/queries/orgs/authorization-settings.ts';
import { candidateOf, endConsent } from '../../control/connect-sessions/authorize.ts';
import { importTokens } from '../../control/oauth/import-tokens.ts';
import { beginAuthorization, declineAuthorization, finishAuthorization } from '../../control/oauth/oauth.ts';
import { confirmAuthorization } from '../../control/oauth/pending.ts';
import { isReturnOrigin } from '../../control/oauth/return-url.ts';
import { changeSettings } from '../../control/oauth/settings.ts';
import { secretCharsMax } from '../../core/crypto/secret-limit.ts';
import { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';
import { boundedList } from '../bounded-list.ts';
import { bodyId, exampleId, missingParameter, pathId } from '../inputs.ts';
import { instant } from '../instant.ts';
import { QueryText } from '../query-inputs.ts';
import { route } from '../route.ts';
import { SeeOther } from '../see-other.ts';

const tag = 'oauth';

/** The spec may rename the code and keep other parameters. A refusal has an `error` instead. */
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
    if (Object.keys(others).length > 0 && others['error'] !== '') return;
    const { value: input } = dataset;
    const path = [{ type: 'object', origin: 'value', input, key: 'code', value: undefined }] as const;
    addIssue({ message: 'is missing', input: undefined, path: [...path] });
  }),
  v.transform(({ code, state, iss, ...others }) => ({ code, state, iss, others })),
);

const Authorized = v.object({
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
});

const Token = v.pipe(v.string(), v.minLength(1), v.maxLength(secretCharsMax));

const ReturnOrigin = v.pipe(
  v.string(),
  v.maxLength(300),
  v.check(
    isReturnOrigin,
    'expected an origin such as https://app.acme.example, without a path; http only on a loopback address',
  ),
  v.transform((text) => new URL(text).origin),
);

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
      returnUrl: v.optional(
        v.pipe(
          QueryText,
          v.description(
            'A page of yours, on one of `returnOrigins`. The grant then waits until your server confirms it. The page gets `code`, for `POST /oauth/confirm`, or `error`.',
          ),
        ),
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
        returnUrl: query.returnUrl ?? null,
      }),
  }),
  route({
    method: 'get',
    path: '/oauth/callback',
    summary: 'Finish the authorization of a connection',
    description:
      'Where the provider sends the customer back to; the signed state is the credential. Stores the tokens, encrypted, and activates the connection once nothing else needs authorization. When the customer declined there is no `code`: 400, or with a `returnUrl` an `error` for your page.',
    tag,
    auth: 'oauth_state',
    costly: 'side_by_side',
    query: CallbackQuery,
    status: 200,
    response: Authorized,
    redirects:
      'The authorization has a `returnUrl`: the browser goes there with `code` or `error`. That of a connect session goes back to its page.',
    errors: ['unauthorized', 'plan_limit', 'not_found', 'conflict'],
    async handle({ query, browser }, deps) {
      const error = query.code ? undefined : query.others['error'];
      const ended =
        error === undefined
          ? await finishAuthorization(deps, query, {
              browser,
              candidateOf: (scope, sessionId) => candidateOf(deps, scope, sessionId),
            })
          : await declineAuthorization(deps, { state: query.state, error });
      if (!ended) throw missingParameter('code');
      if ('sessionId' in ended) return new SeeOther(await endConsent(deps, ended));
      return 'returnAddress' in ended ? new SeeOther(ended.returnAddress) : ended;
    },
  }),
  route({
    method: 'post',
    path: '/oauth/confirm',
    summary: 'Confirm an authorization that began with a return URL',
    description:
      'Takes the `code` that came to your page, once, within 10 minutes. Take the connection from the session of that browser, never from its address: a code of another connection is a 404. Stores the tokens and activates the connection as the callback does otherwise.',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    body: v.object({
      connectionId: bodyId('con'),
      code: v.pipe(
        v.string(),
        v.minLength(1),
        v.maxLength(200),
        v.examples(['xUlDk1kQ0pcmBjyiFyg7-ByMSfCkPb5rTOe5xsx5HaE']),
      ),
    }),
    bodyExample: { connectionId: exampleId('con'), code: 'xUlDk1kQ0pcmBjyiFyg7-ByMSfCkPb5rTOe5xsx5HaE' },
    status: 200,
    response: Authorized,
    errors: ['not_found', 'conflict', 'plan_limit'],
    handle: ({ scope, body }, deps) => confirmAuthorization(deps, scope, body),
  }),
  route({
    method: 'post',
    path: '/connections/:id/tokens',
    summary: 'Bring along the tokens of a customer who has authorized elsewhere',
    description:
      'They must be of the same client at the provider. A refresh token is used at once, then a page is read; only then are the tokens stored, encrypted, and the connection becomes active as after an authorization. 409 when the provider or the API refuses them: the connection is as before. Tokens that the provider has given by then are kept, and the same request with the cause removed goes on with them.',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    params: v.object({ id: pathId('con', 'Connection') }),
    body: v.object({
      accessToken: Token,
      refreshToken: v.nullish(Token, null),
      expiresAt: v.nullish(instant('When the access token expires; only needed without a refresh token.'), null),
      metadata: v.optional(
        v.pipe(
          v.record(v.string(), v.union([v.pipe(v.string(), v.maxLength(2000)), v.number(), v.boolean()])),
          v.description(
            'Values that expressions see as `auth`. Those of `callback.metadata` of the spec are required, and one of `account` if the provider does not give it again.',
          ),
        ),
        {},
      ),
      resource: v.nullish(
        v.pipe(v.string(), v.description('Key of a resource with its own `auth`; absent: that of the spec.')),
        null,
      ),
      newAccount: v.optional(
        v.pipe(
          v.boolean(),
          v.description('Whether they may be of another account than before: everything is then read from the start.'),
        ),
        false,
      ),
    }),
    bodyExample: { accessToken: 'the-access-token', refreshToken: 'the-refresh-token' },
    status: 200,
    response: Authorized,
    errors: ['not_found', 'conflict', 'plan_limit'],
    handle: ({ scope, params, body: { resource, ...tokens } }, deps) =>
      importTokens(deps, scope, { ...tokens, connectionId: params.id, resourceKey: resource }),
  }),
  route({
    method: 'get',
    path: '/oauth/settings',
    summary: 'Read how customers of the org may authorize connections',
    tag,
    auth: 'api_key',
    status: 200,
    response: AuthorizationSettings,
    errors: [],
    handle: ({ scope }, { db }) => readAuthorizationSettings(db, scope),
  }),
  route({
    method: 'patch',
    path: '/oauth/settings',
    summary: 'Change how customers of the org may authorize connections',
    description: 'Absent fields do not change. Authorizations in progress are held to what is set when they end.',
    tag,
    auth: 'api_key',
    body: v.partial(
      v.object({
        returnOrigins: v.pipe(boundedList(ReturnOrigin, 20), AuthorizationSettings.entries.returnOrigins.pipe[1]),
        confirmationRequired: AuthorizationSettings.entries.confirmationRequired,
      }),
    ),
    bodyExample: { returnOrigins: ['https://app.acme.example'], confirmationRequired: true },
    status: 200,
    response: AuthorizationSettings,
    errors: [],
    handle: ({ scope, body }, deps) => changeSettings(deps, scope, body),
  }),
];
