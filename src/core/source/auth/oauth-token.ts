/**
 * The client credentials grant (RFC 6749 4.4) and code shared by all grants.
 *
 * oauth4webapi makes the requests, and the guarded client sends them. Responses are read here, as the library accepts
 * standard ones only and `tokenResponse` describes others.
 */

import { type AuthorizationServer, type Client, type ClientAuth, genericTokenEndpointRequest } from 'oauth4webapi';
import type { HttpClient } from '../../model/http.ts';
import type { OauthAuthorizationCode, OauthClientCredentials } from '../../spec/schema/auth-schema.ts';
import type { AuthValues } from './auth-values.ts';
import { clientAuth } from './client-auth.ts';
import { clientOf } from './oauth-client.ts';
import type { Token } from './token.ts';
import { responseOf, serverAt, throughClient, tokenUrl } from './token-fetch.ts';
import { readTokenResponse } from './token-response.ts';

export interface TokenRequestContext {
  readonly client: HttpClient;
  readonly values: AuthValues;
  readonly now: () => Date;
}

/** Throws `auth_failed`, `spec_invalid`, `egress_blocked` and what `sendTokenRequest` throws. */
export async function requestClientToken(auth: OauthClientCredentials, context: TokenRequestContext): Promise<Token> {
  const { client, values, now } = context;
  const url = await tokenUrl(auth.tokenUrl, context);
  const fields = { ...(await scopeField(auth, values)), ...(await values.texts(auth.params)) };
  const parties = await partiesAt(url, auth, context);
  // Not `clientCredentialsGrantRequest`, because some providers name this grant differently.
  const grantType = fields['grant_type'] || 'client_credentials';
  const response = await genericTokenEndpointRequest(
    ...parties,
    grantType,
    fields,
    throughClient(client, auth.tokenRequest),
  );
  const token = await readGrant(auth, response, now());
  // This grant has no refresh tokens (RFC 6749 4.4.3), so a new request loses nothing.
  return { ...token, refreshToken: null };
}

type OauthAuth = OauthClientCredentials | OauthAuthorizationCode;

export async function scopeField(
  auth: Pick<OauthAuth, 'scopes' | 'scopeSeparator'>,
  values: AuthValues,
): Promise<Readonly<Record<string, string>>> {
  const scopes: (string | null)[] = [];
  for (const scope of auth.scopes) scopes.push(await values.text(scope));
  const scope = scopes.filter((part) => part !== null).join(auth.scopeSeparator);
  return scope === '' ? {} : { scope };
}

/** Throws `auth_failed`. */
export async function partiesAt(
  url: URL,
  auth: OauthAuth,
  { client, values, now }: TokenRequestContext,
): Promise<[AuthorizationServer, Client, ClientAuth]> {
  const { id, secret } = await clientOf(auth, values);
  const proof = clientAuth(auth.clientAuth, secret, { mask: (text) => values.mask(text), now });
  return [await serverAt(url, client), { client_id: id }, proof];
}

/** Throws `source_rejected` without a token. */
export async function readGrant(
  { tokenResponse, refresh }: Pick<OauthAuth, 'tokenResponse' | 'refresh'>,
  response: Response,
  now: Date,
): Promise<Token> {
  const settings = { tokenResponse, defaultTtlSeconds: refresh.defaultTtlSeconds };
  return readTokenResponse(await responseOf(response), settings, now);
}
