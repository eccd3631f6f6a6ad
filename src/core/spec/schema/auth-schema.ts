import * as v from 'valibot';
import { JsonObject, mapOf } from '../../json/json-object.ts';
import { field, when, wholeNumber } from './field.ts';
import { Expression, HeaderTemplates, RequestTemplate, Template } from './http-schema.ts';
import { FieldPath, VariableName } from './names.ts';
import { strictObject } from './strict-object.ts';

/** Where a token goes in each request. */
const Put = field(
  v.optional(
    strictObject({
      in: field(v.optional(v.picklist(['header', 'query', 'cookie']), 'header'), 'The part of the request.'),
      name: field(v.optional(v.string(), 'Authorization'), 'The header, query parameter or cookie.'),
      prefix: field(v.optional(v.string(), 'Bearer '), 'The text before the token.'),
    }),
    {},
  ),
  'Where the token goes in each request.',
  { in: 'header', name: 'X-Auth-Token', prefix: '' },
);

const Seconds = wholeNumber(0, 31_536_000);
const tokenUrlText = 'The address that issues tokens.';

const TokenRequest = field(
  v.optional(v.picklist(['form', 'json']), 'form'),
  'The body of token requests: a form (RFC 6749), or a JSON object with the same fields.',
);

const oauthCommon = {
  tokenUrl: field(Template, tokenUrlText, 'https://auth.acme.example/oauth/token'),
  clientId: field(Template, "The client's id.", '{{ params.clientId }}'),
  scopes: field(
    v.optional(v.pipe(v.array(Template), v.maxLength(200)), []),
    'The scopes to ask for. None: the parameter `scope` is left out.',
    ['read'],
  ),
  scopeSeparator: field(v.optional(v.string(), ' '), 'The text between two scopes.'),
  tokenRequest: TokenRequest,
  refresh: field(
    v.optional(
      strictObject({
        expiryBufferSeconds: field(
          v.optional(Seconds, 120),
          'A token is replaced when it expires within this many seconds; one that lives less than twice as long, after half of its lifetime.',
        ),
        rotation: field(
          v.optional(v.picklist(['auto', 'always', 'never']), 'auto'),
          'Whether the provider replaces the refresh token each time: `auto` takes a new one where the response has one, `always` requires it, `never` keeps the first.',
        ),
        defaultTtlSeconds: field(
          v.optional(Seconds, 3600),
          'The lifetime in seconds of a token whose response names none.',
        ),
      }),
      {},
    ),
    'When a token is replaced, and whether the provider replaces the refresh token each time.',
    { expiryBufferSeconds: 300 },
  ),
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

const ClientCredentials = strictObject({
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

const QueryName = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

const OauthAuthorizationCode = v.pipe(
  strictObject({
    kind: field(
      v.literal('oauth2_authorization_code'),
      'A token for a person who grants access in a browser (RFC 6749, 4.1): `GET /oauth/:connectionId/authorize` begins the grant. Until then runs fail with `auth_failed`.',
    ),
    ...oauthCommon,
    authorizeUrl: field(
      Template,
      'The page at which people grant access.',
      'https://auth.acme.example/oauth/authorize',
    ),
    clientSecret: field(
      v.exactOptional(Template),
      "The client's secret. Absent only with `clientAuth: none`.",
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
    refreshUrl: field(
      v.exactOptional(Template),
      'The address that refreshes tokens. Absent: the token URL.',
      'https://auth.acme.example/oauth/refresh',
    ),
    revokeUrl: field(
      v.exactOptional(Template),
      'The address that revokes tokens when the connection is deleted (RFC 7009). Absent: they are only removed here.',
      'https://auth.acme.example/oauth/revoke',
    ),
  }),
  v.metadata(
    when(
      { not: { properties: { clientAuth: { const: 'none' } }, required: ['clientAuth'] } },
      { required: ['clientSecret'] },
    ),
  ),
);

const Session = strictObject({
  kind: field(v.literal('session'), 'A token from a login request, used until it expires or the API refuses it.'),
  login: field(RequestTemplate, 'The login; its templates may use `secrets`.', {
    method: 'POST',
    path: '/login',
    body: { json: { user: '{{ params.user }}', password: '{{ secrets.password }}' } },
  }),
  tokenFrom: field(Expression, 'The token, from the response: sees `body`, `headers` and `status`.', 'body.token'),
  ttlSeconds: field(
    v.exactOptional(Seconds),
    'The lifetime of the token in seconds. Absent: until the API refuses it, unless `expiresFrom` is given.',
    3600,
  ),
  expiresFrom: field(
    v.exactOptional(Expression),
    'When the token expires, from the response: an ISO instant, seconds or milliseconds since 1970, or seconds from now. Absent: as `ttlSeconds` says.',
    'body.expires_at',
  ),
  put: Put,
});

const Jwt = strictObject({
  kind: field(v.literal('jwt'), 'A token that the service signs itself.'),
  algorithm: field(
    v.picklist(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'EdDSA']),
    'The signature algorithm.',
  ),
  key: field(
    Template,
    'The key: text with HS algorithms, otherwise a private key as PEM text.',
    '{{ secrets.privateKey }}',
  ),
  claims: field(JsonObject, 'The claims; strings are templates. `iat` and `exp` are added.', {
    iss: '{{ params.clientId }}',
    aud: 'https://api.acme.example',
  }),
  keyId: field(v.exactOptional(Template), 'The header `kid`. Absent: none.', '{{ params.keyId }}'),
  ttlSeconds: field(v.optional(Seconds, 300), 'The lifetime of the token in seconds.'),
  exchange: field(
    v.exactOptional(
      strictObject({
        tokenUrl: field(Template, tokenUrlText, 'https://auth.acme.example/oauth/token'),
        tokenRequest: TokenRequest,
        params: field(v.optional(mapOf(v.string(), Template), {}), 'Further parameters of the token request.', {
          scope: 'read',
        }),
      }),
    ),
    'Exchanges the signed token for an access token (RFC 7523). Absent: the signed token itself is sent.',
    { tokenUrl: 'https://auth.acme.example/oauth/token' },
  ),
  put: Put,
});

const Hmac = strictObject({
  kind: field(v.literal('hmac'), 'A signature over each request.'),
  algorithm: field(v.picklist(['sha1', 'sha256', 'sha384', 'sha512']), 'The hash of the HMAC.'),
  secret: field(Template, 'The key of the HMAC.', '{{ secrets.signingKey }}'),
  stringToSign: field(
    Template,
    'The text that is signed: sees the request as it is sent as `method`, `path`, `query` (without `?`) and `body`, and `timestamp` (seconds since 1970) and `nonce`, which are new in each attempt.',
    '{{ method }}{{ path }}{{ timestamp }}',
  ),
  headers: field(HeaderTemplates, 'The headers with the result: sees `signature` and the same names.', {
    'X-Signature': '{{ signature }}',
    'X-Timestamp': '{{ timestamp }}',
  }),
  encoding: field(v.optional(v.picklist(['hex', 'base64']), 'hex'), 'How the signature is written.'),
});

/** How requests authenticate; only here and in `destination` may expressions use `secrets`. */
export const Auth = v.variant('kind', [
  strictObject({ kind: field(v.literal('none'), 'Requests carry no credentials.') }),
  strictObject({
    kind: field(v.literal('api_key'), 'A fixed value in each request.'),
    in: field(v.picklist(['header', 'query', 'cookie']), 'The part of the request.'),
    name: field(
      v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
      'The header, query parameter or cookie.',
      'X-Api-Key',
    ),
    value: field(Template, 'The value.', '{{ secrets.apiKey }}'),
    prefix: field(v.optional(v.string(), ''), 'The text before the value.', 'Token '),
  }),
  strictObject({
    kind: field(v.literal('basic'), 'User name and password by HTTP Basic (RFC 7617).'),
    username: field(Template, 'The user name.', '{{ params.user }}'),
    password: field(v.optional(Template, ''), 'The password.', '{{ secrets.password }}'),
  }),
  strictObject({
    kind: field(v.literal('bearer'), 'A fixed token in the header `Authorization: Bearer`.'),
    token: field(Template, 'The token.', '{{ secrets.token }}'),
  }),
  strictObject({
    kind: field(v.literal('headers'), 'Several headers with secrets.'),
    headers: field(HeaderTemplates, 'The headers.', {
      'X-App-Id': '{{ params.appId }}',
      'X-App-Key': '{{ secrets.appKey }}',
    }),
  }),
  ClientCredentials,
  OauthAuthorizationCode,
  Session,
  Jwt,
  Hmac,
]);
/** A parsed `Auth`: every default is filled in. */
export type Auth = v.InferOutput<typeof Auth>;

/** Kinds that sign with a token; `put` says where it goes. */
export type TokenAuth = Extract<Auth, { readonly put: unknown }>;

/** The service asks for tokens with credentials of its own; no customer consents. */
export type OauthClientCredentials = Extract<Auth, { readonly kind: 'oauth2_client_credentials' }>;
/** A customer consents in a browser, and the tokens are refreshed. */
export type OauthAuthorizationCode = Extract<Auth, { readonly kind: 'oauth2_authorization_code' }>;
/** A request signs in, and its response has the token. */
export type SessionAuth = Extract<Auth, { readonly kind: 'session' }>;
/** Each token is a JWT that this service signs. */
export type JwtAuth = Extract<Auth, { readonly kind: 'jwt' }>;
/** Each request is signed with a shared secret. */
export type HmacAuth = Extract<Auth, { readonly kind: 'hmac' }>;
