import * as v from 'valibot';
import { JsonObject, mapOf } from '../../json/json-object.ts';
import { field } from './field.ts';
import { Expression, HeaderTemplates, RequestTemplate, Template } from './http-schema.ts';
import { AuthorizationCode, ClientCredentials } from './oauth-schema.ts';
import { strictObject } from './strict-object.ts';
import { Put, Seconds, TokenRequest, TokenUrl } from './token-fields.ts';

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
        tokenUrl: TokenUrl,
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

/** Authentication of requests; only here and in `destination` may expressions use `secrets`. */
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
  AuthorizationCode,
  Session,
  Jwt,
  Hmac,
]);
export type Auth = v.InferOutput<typeof Auth>;

/** Kinds that sign with a token; `put` says where it goes. */
export type TokenAuth = Extract<Auth, { readonly put: unknown }>;

export type OauthClientCredentials = Extract<Auth, { readonly kind: 'oauth2_client_credentials' }>;
export type OauthAuthorizationCode = Extract<Auth, { readonly kind: 'oauth2_authorization_code' }>;
export type SessionAuth = Extract<Auth, { readonly kind: 'session' }>;
export type JwtAuth = Extract<Auth, { readonly kind: 'jwt' }>;
export type HmacAuth = Extract<Auth, { readonly kind: 'hmac' }>;
