/**
 * The client credentials grant (RFC 6749 4.4), and what every grant has in common. A request is one POST and made by
 * hand: OAuth libraries accept standard answers only, while `tokenResponse` exists for providers that answer in a form
 * of their own.
 */
import type { HttpClient } from '../http/client.ts';
import type { OauthAuthorizationCode, OauthClientCredentials } from '../spec/auth-schema.ts';
import type { AuthValues } from './auth-values.ts';
import { clientAuth } from './client-auth.ts';
import type { Token } from './token.ts';
import { readTokenAnswer } from './token-answer.ts';
import { sendTokenRequest, type TokenAnswer, tokenTransport } from './token-client.ts';
import { renderUrl } from './url-template.ts';

/** What a token request needs besides its auth block. */
export interface TokenRequestContext {
  readonly client: HttpClient;
  readonly values: AuthValues;
  readonly now: () => Date;
}

/** Obtains a token. Throws `auth_failed`, `spec_invalid`, `egress_blocked` and what `sendTokenRequest` throws. */
export async function requestClientToken(auth: OauthClientCredentials, context: TokenRequestContext): Promise<Token> {
  const { values } = context;
  const url = await renderUrl(auth.tokenUrl, values.hole);
  const fields = {
    grant_type: 'client_credentials',
    ...(await scopeField(auth, values)),
    ...(await values.texts(auth.params)),
  };
  const token = readGrant(auth, await postAsClient(auth, { url, fields }, context), context.now());
  // A refresh token has no place in this grant (RFC 6749 4.4.3): there is nothing to lose by asking anew.
  return { ...token, refreshToken: null };
}

type OauthAuth = OauthClientCredentials | OauthAuthorizationCode;

/** The `scope` of a request; no field without scopes. */
export async function scopeField(
  auth: Pick<OauthAuth, 'scopes' | 'scopeSeparator'>,
  values: AuthValues,
): Promise<{ readonly scope?: string }> {
  const scopes: (string | null)[] = [];
  for (const scope of auth.scopes) scopes.push(await values.text(scope));
  const scope = scopes.filter((part) => part !== null).join(auth.scopeSeparator);
  return scope === '' ? {} : { scope };
}

/** Posts a form with the client's proof of who it is. Throws `auth_failed` and what `sendTokenRequest` throws. */
export async function postAsClient(
  auth: Pick<OauthAuth, 'clientId' | 'clientSecret' | 'clientAuth'>,
  { url, fields }: { readonly url: URL; readonly fields: Readonly<Record<string, string>> },
  { client, values, now }: TokenRequestContext,
): Promise<TokenAnswer> {
  const id = await values.required(auth.clientId, 'auth.clientId');
  const isPublic = auth.clientAuth === 'none';
  const secret = isPublic ? '' : await values.secret(auth.clientSecret ?? '', 'auth.clientSecret');
  const proof = await clientAuth(auth.clientAuth, { id, secret }, { url, now: now() });
  for (const value of proof.secretValues) values.mask(value);
  return await postForm(client, url, { headers: proof.headers, fields: { ...fields, ...proof.fields } });
}

/** The token in the answer to a grant, read as the auth block says. */
export function readGrant(
  { tokenResponse, refresh }: Pick<OauthAuth, 'tokenResponse' | 'refresh'>,
  answer: TokenAnswer,
  now: Date,
): Token {
  return readTokenAnswer(answer, { tokenResponse, defaultTtlSeconds: refresh.defaultTtlSeconds }, now);
}

/** Posts a form to a token endpoint. */
export function postForm(
  client: HttpClient,
  url: URL,
  request: { readonly headers: Readonly<Record<string, string>>; readonly fields: Readonly<Record<string, string>> },
): Promise<TokenAnswer> {
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    ...request.headers,
  };
  const body = new URLSearchParams(request.fields).toString();
  return sendTokenRequest(client, { ...tokenTransport, method: 'POST', url, headers, body });
}
