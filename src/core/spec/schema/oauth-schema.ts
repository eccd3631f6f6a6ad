import * as v from 'valibot';
import { mapOf } from '../../json/json-object.ts';
import { Duration, durationMs } from './duration.ts';
import { field, when } from './field.ts';
import { Template } from './http-schema.ts';
import { FieldPath, SpecKey, VariableName } from './names.ts';
import { strictObject } from './strict-object.ts';
import { Put, Seconds, TokenRequest, TokenUrl } from './token-fields.ts';

const refreshEntries = {
  expiryBufferSeconds: field(
    v.optional(Seconds, 120),
    'A token is replaced when it expires within this many seconds; one that lives less than twice as long, after half of its lifetime.',
  ),
  rotation: field(
    v.optional(v.picklist(['auto', 'always', 'never']), 'auto'),
    'Whether the provider replaces the refresh token each time: `auto` takes a new one where the response has one, `always` requires it, `never` keeps the first.',
  ),
  defaultTtlSeconds: field(v.optional(Seconds, 3600), 'The lifetime in seconds of a token whose response names none.'),
};

const refreshText = 'When a token is replaced, and whether the provider replaces the refresh token each time.';

const oauthCommon = {
  tokenUrl: TokenUrl,
  clientId: field(Template, "The client's id.", '{{ params.clientId }}'),
  scopes: field(
    v.optional(v.pipe(v.array(Template), v.maxLength(200)), []),
    'The scopes to ask for. None: the parameter `scope` is left out.',
    ['read'],
  ),
  scopeSeparator: field(v.optional(v.string(), ' '), 'The text between two scopes.'),
  tokenRequest: TokenRequest,
  refresh: field(v.optional(strictObject(refreshEntries), {}), refreshText, { expiryBufferSeconds: 300 }),
  tokenResponse: field(
    v.optional(
      strictObject({
        accessToken: field(v.optional(FieldPath, 'access_token'), 'The field of the access token.'),
        refreshToken: field(v.optional(FieldPath, 'refresh_token'), 'The field of the refresh token.'),
        expiresIn: field(v.optional(FieldPath, 'expires_in'), 'The field of the lifetime.'),
        expiresInUnit: field(
          v.optional(v.picklist(['seconds', 'milliseconds', 'minutes', 'hours']), 'seconds'),
          'The unit of the lifetime.',
        ),
        metadata: field(
          v.optional(mapOf(VariableName, FieldPath), {}),
          'Other fields to keep, by the name under which expressions see them: `auth.<name>`.',
          { instance: 'instance_url' },
        ),
      }),
      {},
    ),
    "Where the token endpoint's response has its values.",
    { metadata: { instance: 'instance_url' } },
  ),
  put: Put,
};

export const ClientCredentials = strictObject({
  kind: field(
    v.literal('oauth2_client_credentials'),
    'A token for the client itself (RFC 6749, 4.4); requested when one is needed, stored encrypted, shared by all runs of the connection.',
  ),
  ...oauthCommon,
  clientSecret: field(
    Template,
    "The client's secret; with `private_key_jwt` its private key as PEM text.",
    '{{ secrets.clientSecret }}',
  ),
  clientAuth: field(
    v.optional(v.picklist(['basic', 'post', 'private_key_jwt']), 'basic'),
    'How the client authenticates at the token endpoint: in the header, in the body, or by a signed assertion (RFC 7523).',
  ),
  params: field(v.optional(mapOf(v.string(), Template), {}), 'Further parameters of the token request.', {
    audience: 'https://api.acme.example',
  }),
});

const KeepAlive = v.pipe(
  Duration,
  v.check((text) => {
    const ms = durationMs(text) ?? 0;
    return ms >= 3_600_000 && ms <= 365 * 86_400_000;
  }, 'expected a duration from an hour to a year, such as P30D'),
);

const QueryName = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

export const AuthorizationCode = v.pipe(
  strictObject({
    kind: field(
      v.literal('oauth2_authorization_code'),
      'A token for a person who grants access in a browser (RFC 6749, 4.1): `GET /oauth/:connectionId/authorize` begins the grant. Until then runs fail with `auth_failed`.',
    ),
    ...oauthCommon,
    app: field(
      v.exactOptional(SpecKey),
      'The key of an OAuth app of the org (`POST /oauth-apps`), which has client id and secret for all customers. Absent: `clientId` and `clientSecret` are given here. With it, the hosts of `tokenUrl`, `refreshUrl` and `revokeUrl` are text, or end with text such as `.acme.example`: no customer decides where the secret goes.',
      'acme',
    ),
    clientId: field(v.exactOptional(Template), "The client's id. Absent only with `app`.", '{{ params.clientId }}'),
    refresh: field(
      v.optional(
        strictObject({
          ...refreshEntries,
          keepAlive: field(
            v.exactOptional(KeepAlive),
            'Only with `oauth2_authorization_code`: after how long a refresh token that nothing has used is refreshed, so that it does not lapse: from an hour to a year. Set it to half of what the provider allows. Absent: never.',
            'P30D',
          ),
        }),
        {},
      ),
      refreshText,
      { expiryBufferSeconds: 300 },
    ),
    authorizeUrl: field(
      Template,
      'The page at which people grant access.',
      'https://auth.acme.example/oauth/authorize',
    ),
    clientSecret: field(
      v.exactOptional(Template),
      "The client's secret. Absent only with `clientAuth: none`, or with `app`.",
      '{{ secrets.clientSecret }}',
    ),
    clientAuth: field(
      v.optional(v.picklist(['basic', 'post', 'none']), 'basic'),
      'How the client authenticates at the token endpoint: in the header, in the body, or, as a public client, not at all.',
    ),
    pkce: field(v.optional(v.boolean(), true), 'Whether the grant uses PKCE (RFC 7636).'),
    authorizeParams: field(
      v.optional(mapOf(v.string(), Template), {}),
      'Further query parameters of the authorize URL.',
      { access_type: 'offline' },
    ),
    tokenParams: field(v.optional(mapOf(v.string(), Template), {}), 'Further parameters of token requests.', {
      audience: 'https://api.acme.example',
    }),
    callback: field(
      v.optional(
        strictObject({
          code: field(v.optional(QueryName, 'code'), 'The parameter with the authorization code.', 'auth_code'),
          metadata: field(
            v.optional(mapOf(VariableName, QueryName), {}),
            'Parameters to keep, by the name under which expressions see them: `auth.<name>`. If one is missing, the grant fails. They come from the browser of the person: where one is part of a host, write the end of the host as text.',
            { realm: 'realmId' },
          ),
        }),
        {},
      ),
      'Where the query has its values with which the provider sends the person back. A grant that was made before a change has the earlier ones: authorize again.',
      { metadata: { realm: 'realmId' } },
    ),
    account: field(
      v.exactOptional(v.pipe(v.array(VariableName), v.maxLength(20))),
      'The kept values (`callback.metadata`, `tokenResponse.metadata`) by which one account at the provider differs from another. Absent: all of them. The connection shows these values, or without this list those of `callback.metadata`: name no secret. Whoever authorizes another account has to say so (`newAccount`), and everything is read from the start.',
      ['realm'],
    ),
    refreshUrl: field(
      v.exactOptional(Template),
      'The address that refreshes tokens. Absent: the token URL.',
      'https://auth.acme.example/oauth/refresh',
    ),
    revokeUrl: field(
      v.exactOptional(Template),
      'The address that revokes tokens when the connection is deleted, or a grant is not confirmed in time (RFC 7009). Absent: they are only removed here.',
      'https://auth.acme.example/oauth/revoke',
    ),
  }),
  v.metadata({
    allOf: [
      when({ not: { required: ['app'] } }, { required: ['clientId'] }),
      when(
        {
          not: {
            anyOf: [{ required: ['app'] }, { properties: { clientAuth: { const: 'none' } }, required: ['clientAuth'] }],
          },
        },
        { required: ['clientSecret'] },
      ),
      when({ required: ['app'] }, { not: { anyOf: [{ required: ['clientId'] }, { required: ['clientSecret'] }] } }),
    ],
  }),
);
