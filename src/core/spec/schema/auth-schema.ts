import * as v from 'valibot';
import { JsonObject } from '../../json/json-value.ts';
import { FieldPath, VariableName } from '../../json/property-names.ts';
import { mapOf, strictObject } from '../../strict-object.ts';
import { Expression, HeaderTemplates, RequestTemplate, Template } from './http-schema.ts';

/** Where a token goes in each request. */
const Put = v.optional(
  strictObject({
    in: v.optional(v.picklist(['header', 'query', 'cookie']), 'header'),
    name: v.optional(v.string(), 'Authorization'),
    prefix: v.optional(v.string(), 'Bearer '),
  }),
  {},
);

const Seconds = v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(31_536_000));

const oauthCommon = {
  tokenUrl: Template,
  clientId: Template,
  scopes: v.optional(v.pipe(v.array(Template), v.maxLength(200)), []),
  scopeSeparator: v.optional(v.string(), ' '),
  /** When to refresh, and whether the provider replaces the refresh token each time. */
  refresh: v.optional(
    strictObject({
      expiryBufferSeconds: v.optional(Seconds, 120),
      rotation: v.optional(v.picklist(['auto', 'always', 'never']), 'auto'),
      defaultTtlSeconds: v.optional(Seconds, 3600),
    }),
    {},
  ),
  /** Where the token endpoint's response has its values; `metadata` is visible later as `auth.<name>`. */
  tokenResponse: v.optional(
    strictObject({
      accessToken: v.optional(FieldPath, 'access_token'),
      refreshToken: v.optional(FieldPath, 'refresh_token'),
      expiresIn: v.optional(FieldPath, 'expires_in'),
      expiresInUnit: v.optional(v.picklist(['seconds', 'milliseconds', 'minutes', 'hours']), 'seconds'),
      metadata: v.optional(mapOf(VariableName, FieldPath), {}),
    }),
    {},
  ),
  put: Put,
};

const ClientCredentials = strictObject({
  kind: v.literal('oauth2_client_credentials'),
  ...oauthCommon,
  clientSecret: Template,
  clientAuth: v.optional(v.picklist(['basic', 'post', 'private_key_jwt']), 'basic'),
  params: v.optional(mapOf(v.string(), Template), {}),
});

const OauthAuthorizationCode = strictObject({
  kind: v.literal('oauth2_authorization_code'),
  ...oauthCommon,
  authorizeUrl: Template,
  clientSecret: v.exactOptional(Template),
  clientAuth: v.optional(v.picklist(['basic', 'post', 'none']), 'basic'),
  pkce: v.optional(v.boolean(), true),
  authorizeParams: v.optional(mapOf(v.string(), Template), {}),
  tokenParams: v.optional(mapOf(v.string(), Template), {}),
  /** Absent: the token URL. */
  refreshUrl: v.exactOptional(Template),
  revokeUrl: v.exactOptional(Template),
});

const Session = strictObject({
  kind: v.literal('session'),
  login: RequestTemplate,
  tokenFrom: Expression,
  ttlSeconds: v.exactOptional(Seconds),
  expiresFrom: v.exactOptional(Expression),
  put: Put,
});

const Jwt = strictObject({
  kind: v.literal('jwt'),
  algorithm: v.picklist(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'EdDSA']),
  key: Template,
  claims: JsonObject,
  keyId: v.exactOptional(Template),
  ttlSeconds: v.optional(Seconds, 300),
  /** Exchanges the signed token for an access token (RFC 7523). */
  exchange: v.exactOptional(strictObject({ tokenUrl: Template, params: v.optional(mapOf(v.string(), Template), {}) })),
  put: Put,
});

const Hmac = strictObject({
  kind: v.literal('hmac'),
  algorithm: v.picklist(['sha1', 'sha256', 'sha384', 'sha512']),
  secret: Template,
  stringToSign: Template,
  headers: HeaderTemplates,
  encoding: v.optional(v.picklist(['hex', 'base64']), 'hex'),
});

/** How requests authenticate; only here and in `destination` may expressions use `secrets`. */
export const Auth = v.variant('kind', [
  strictObject({ kind: v.literal('none') }),
  strictObject({
    kind: v.literal('api_key'),
    in: v.picklist(['header', 'query', 'cookie']),
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    value: Template,
    prefix: v.optional(v.string(), ''),
  }),
  strictObject({ kind: v.literal('basic'), username: Template, password: v.optional(Template, '') }),
  strictObject({ kind: v.literal('bearer'), token: Template }),
  strictObject({ kind: v.literal('headers'), headers: HeaderTemplates }),
  ClientCredentials,
  OauthAuthorizationCode,
  Session,
  Jwt,
  Hmac,
]);
export type Auth = v.InferOutput<typeof Auth>;

/** Kinds that sign with a token; `put` says where it goes. */
export type TokenAuth = Extract<Auth, { readonly put: unknown }>;

/** The blocks of single kinds. */
export type OauthClientCredentials = Extract<Auth, { readonly kind: 'oauth2_client_credentials' }>;
export type OauthAuthorizationCode = Extract<Auth, { readonly kind: 'oauth2_authorization_code' }>;
export type SessionAuth = Extract<Auth, { readonly kind: 'session' }>;
export type JwtAuth = Extract<Auth, { readonly kind: 'jwt' }>;
export type HmacAuth = Extract<Auth, { readonly kind: 'hmac' }>;
