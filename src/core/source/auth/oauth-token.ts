/**
 * The client credentials grant (RFC 6749 4.4), and what all grants share. oauth4webapi makes the requests, the guarded
 * client sends them. We read the responses ourselves: the library accepts standard ones only, while `tokenResponse`
 * exists for providers with their own response format.
 */

import { type AuthorizationServer, type Client, type ClientAuth, genericTokenEndpointRequest } from 'oauth4webapi';
import type { HttpClient } from '../../model/http.ts';
import type { OauthAuthorizationCode, OauthClientCredentials } from '../../spec/schema/auth-schema.ts';
import type { AuthValues } from './auth-values.ts';
import { clientAuth } from './client-auth.ts';
import type { Token } from './token.ts';
import { responseOf, serverAt, throughClient, tokenUrl } from './token-fetch.ts';
import { readTokenResponse } from './token-response.ts';

/** What a token request needs besides its auth block. */
export interface TokenRequestContext {
  readonly client: HttpClient;
  readonly values: AuthValues;
  readonly now: () => Date;
}

/** Obtains a token. Throws `auth_failed`, `spec_invalid`, `egress_blocked` and what `sendTokenRequest` throws. */
export async function requestClientToken(auth: OauthClientCredentials, context: TokenRequestContext): Promise<Token> {
  const { client, values, now } = context;
  const url = await tokenUrl(auth.tokenUrl, context);
  const fields = { ...(await scopeField(auth, values)), ...(await values.texts(auth.params)) };
  const parties = await partiesAt(url, auth, context);
  // Not `clientCredentialsGrantRequest`: there are providers with a name of their own for this grant.
  const grantType = fields['grant_type'] || 'client_credentials';
  const response = await genericTokenEndpointRequest(
    ...parties,
    grantType,
    fields,
    throughClient(client, auth.tokenRequest),
  );
  const token = await readGrant(auth, response, now());
  // A refresh token has no place in this grant (RFC 6749 4.4.3): a new request loses nothing.
  return { ...token, refreshToken: null };
}

type OauthAuth = OauthClientCredentials | OauthAuthorizationCode;

/** The `scope` of a request; no field without scopes. */
export async function scopeField(
  auth: Pick<OauthAuth, 'scopes' | 'scopeSeparator'>,
  values: AuthValues,
): Promise<Readonly<Record<string, string>>> {
  const scopes: (string | null)[] = [];
  for (const scope of auth.scopes) scopes.push(await values.text(scope));
  const scope = scopes.filter((part) => part !== null).join(auth.scopeSeparator);
  return scope === '' ? {} : { scope };
}

/** The common start of the library's requests: the server at `url`, the client, its proof. Throws `auth_failed`. */
export async function partiesAt(
  url: URL,
  auth: Pick<OauthAuth, 'clientId' | 'clientSecret' | 'clientAuth'>,
  { client, values, now }: TokenRequestContext,
): Promise<[AuthorizationServer, Client, ClientAuth]> {
  const id = await values.required(auth.clientId, 'auth.clientId');
  const isPublic = auth.clientAuth === 'none';
  const secret = isPublic ? '' : await values.secret(auth.clientSecret ?? '', 'auth.clientSecret');
  const proof = clientAuth(auth.clientAuth, secret, { mask: (text) => values.mask(text), now });
  return [await serverAt(url, client), { client_id: id }, proof];
}

/** The token in the response to a grant, read as the auth block says. Throws `source_rejected` without one. */
export async function readGrant(
  { tokenResponse, refresh }: Pick<OauthAuth, 'tokenResponse' | 'refresh'>,
  response: Response,
  now: Date,
): Promise<Token> {
  const settings = { tokenResponse, defaultTtlSeconds: refresh.defaultTtlSeconds };
  return readTokenResponse(await responseOf(response), settings, now);
}
