/**
 * The client credentials grant (RFC 6749 4.4). The request is one POST and made by hand: OAuth libraries accept
 * standard answers only, while `tokenResponse` exists for providers that answer in a form of their own.
 */
import type { HttpClient } from '../http/client.ts';
import type { OauthClientCredentials } from '../spec/auth-schema.ts';
import type { AuthValues } from './auth-values.ts';
import { clientAuth } from './client-auth.ts';
import type { Token } from './token.ts';
import { readTokenAnswer } from './token-answer.ts';
import { sendTokenRequest, tokenTransport } from './token-client.ts';
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
  const id = await values.required(auth.clientId, 'auth.clientId');
  const secret = await values.secret(auth.clientSecret, 'auth.clientSecret');
  const proof = await clientAuth(auth.clientAuth, { id, secret }, { url, now: context.now() });
  for (const value of proof.secretValues) values.mask(value);
  const scopes: (string | null)[] = [];
  for (const scope of auth.scopes) scopes.push(await values.text(scope));
  const scope = scopes.filter((part) => part !== null).join(auth.scopeSeparator);
  const fields = {
    grant_type: 'client_credentials',
    ...(scope === '' ? {} : { scope }),
    ...(await values.texts(auth.params)),
    ...proof.fields,
  };
  const answer = await postForm(context.client, url, { headers: proof.headers, fields });
  const settings = { tokenResponse: auth.tokenResponse, defaultTtlSeconds: auth.refresh.defaultTtlSeconds };
  const token = readTokenAnswer(answer, settings, { now: context.now(), previous: null });
  // A refresh token has no place in this grant (RFC 6749 4.4.3): there is nothing to lose by asking anew.
  return { ...token, refreshToken: null };
}

/** Posts a form to a token endpoint. */
export function postForm(
  client: HttpClient,
  url: URL,
  request: { readonly headers: Readonly<Record<string, string>>; readonly fields: Readonly<Record<string, string>> },
) {
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    ...request.headers,
  };
  const body = new URLSearchParams(request.fields).toString();
  return sendTokenRequest(client, { ...tokenTransport, method: 'POST', url, headers, body });
}
