import { genericTokenEndpointRequest } from 'oauth4webapi';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { JwtAuth } from '../../spec/schema/auth-schema.ts';
import type { AuthValues } from './auth-values.ts';
import type { TokenRequestContext } from './oauth-token.ts';
import { parsePrivateKey } from './private-key.ts';
import { type SignedJwt, signJwt } from './signed-jwt.ts';
import type { Token } from './token.ts';
import { responseOf, serverAt, throughClient, tokenUrl } from './token-fetch.ts';
import { readTokenResponse, standardResponse } from './token-response.ts';

/** Throws `auth_failed` if the key is empty or does not fit the algorithm. */
export async function makeJwt(auth: JwtAuth, context: Pick<TokenRequestContext, 'values' | 'now'>): Promise<Token> {
  const { token, expiresAtMs } = await signClaims(auth, context.values, context.now());
  const obtainedAtMs = context.now().getTime();
  return { accessToken: token, expiresAtMs, obtainedAtMs, refreshToken: null, metadata: {} };
}

/** Exchanges a signed token (RFC 7523 2.1), throwing what `makeJwt` and `sendTokenRequest` throw. */
export async function exchangeJwt(
  auth: JwtAuth,
  exchange: NonNullable<JwtAuth['exchange']>,
  { client, values, now }: TokenRequestContext,
): Promise<Token> {
  const url = await tokenUrl(exchange.tokenUrl, { client, values });
  const { token: assertion } = await signClaims(auth, values, now());
  values.mask(assertion);
  const fields: Readonly<Record<string, string>> = { assertion, ...(await values.texts(exchange.params)) };
  const grantType = fields['grant_type'] || 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  const parties = [await serverAt(url, client), nobody, noProof] as const;
  const response = await genericTokenEndpointRequest(
    ...parties,
    grantType,
    fields,
    throughClient(client, exchange.tokenRequest),
  );
  return readTokenResponse(await responseOf(response), standardResponse, now());
}

/** The assertion identifies the owner; the library requires a client, but sends none without a proof. */
const nobody = { client_id: 'nobody' };
const noProof = () => {};

async function signClaims(auth: JwtAuth, values: AuthValues, now: Date): Promise<SignedJwt> {
  const { algorithm, ttlSeconds } = auth;
  const place = 'auth.key';
  const text = await values.secret(auth.key, place);
  const { key, keyId } = algorithm.startsWith('HS')
    ? { key: new TextEncoder().encode(text), keyId: null }
    : parsePrivateKey(text, place);
  const claims = await values.value(auth.claims);
  const named = auth.keyId === undefined ? keyId : await values.text(auth.keyId);
  const parts = { algorithm, key, keyId: named, claims: isJsonObject(claims) ? claims : {}, now, ttlSeconds };
  return await signJwt(parts, place);
}
