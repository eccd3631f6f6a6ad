/**
 * The authorization code grant (RFC 6749 4.1, with PKCE as in RFC 7636): authorization, code exchange, refresh,
 * revocation.
 *
 * Only the owner can authorize again, so the stored grant survives any response to a refresh until a new grant replaces
 * it.
 */
import { createHash } from 'node:crypto';
import {
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  nopkce,
  refreshTokenGrantRequest,
  revocationRequest,
  skipStateCheck,
  validateAuthResponse,
} from 'oauth4webapi';
import { AppError } from '../../errors.ts';
import type { OauthAuthorizationCode } from '../../spec/schema/auth-schema.ts';
import { renderUrl } from '../request/url-template.ts';
import type { AuthValues } from './auth-values.ts';
import { clientIdOf } from './oauth-client.ts';
import { partiesAt, readGrant, scopeField, type TokenRequestContext } from './oauth-token.ts';
import type { Token } from './token.ts';
import { throughClient, tokenUrl } from './token-fetch.ts';

export interface RefreshContext extends TokenRequestContext {
  /** Resource that was authorized separately, or `null` if the grant covers the whole connection. */
  readonly resourceKey: string | null;
}

const howToAuthorize = ({ resourceKey }: Pick<RefreshContext, 'resourceKey'>): string =>
  resourceKey === null
    ? 'Authorize it: GET /api/v1/oauth/:connectionId/authorize returns the address'
    : `Authorize the resource "${resourceKey}": GET /api/v1/oauth/:connectionId/authorize?resource=${resourceKey} returns the address`;

export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly state: string;
  /** `null` without PKCE. */
  readonly codeVerifier: string | null;
}

interface Redirected {
  readonly query: Readonly<Record<string, string | undefined>>;
}

/** The provider's consent page; throws `auth_failed` without a client id, or `spec_invalid`. */
export async function authorizeUrl(
  auth: OauthAuthorizationCode,
  values: AuthValues,
  { redirectUri, state, codeVerifier }: AuthorizationRequest,
): Promise<URL> {
  const url = await renderUrl(auth.authorizeUrl, values.hole);
  const parameters = {
    ...(await values.texts(auth.authorizeParams)),
    response_type: 'code',
    client_id: await clientIdOf(auth, values),
    redirect_uri: redirectUri,
    state,
    ...(await scopeField(auth, values)),
    ...(codeVerifier === null ? {} : await challengeFields(codeVerifier)),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

const challengeFields = async (codeVerifier: string) => ({
  code_challenge: await calculatePKCECodeChallenge(codeVerifier),
  code_challenge_method: 'S256',
});

/**
 * Throws what `sendTokenRequest` throws, and `source_rejected` without a token.
 *
 * The caller has checked `state`, which is signed and single-use; `iss` is not compared because specs name no issuer.
 */
export async function exchangeCode(
  auth: OauthAuthorizationCode,
  { query, redirectUri, codeVerifier }: Omit<AuthorizationRequest, 'state'> & Pick<Redirected, 'query'>,
  context: TokenRequestContext,
): Promise<Token> {
  const { client, values, now } = context;
  const url = await tokenUrl(auth.tokenUrl, context);
  const code = redirectedValue(query, auth.callback.code);
  values.mask(code);
  const metadata = Object.entries(auth.callback.metadata).map(([name, parameter]) => [
    name,
    redirectedValue(query, parameter),
  ]);
  if (codeVerifier !== null) values.mask(codeVerifier);
  const additionalParameters = await values.texts(auth.tokenParams);
  const parties = await partiesAt(url, auth, context);
  const [server, owner] = parties;
  const callback = validateAuthResponse(server, owner, new URLSearchParams({ code }), skipStateCheck);
  const options = { ...throughClient(client, auth.tokenRequest), additionalParameters };
  const verifier = codeVerifier ?? nopkce;
  const response = await authorizationCodeGrantRequest(...parties, callback, redirectUri, verifier, options);
  const token = await readGrant(auth, response, now());
  return untilRefused({ ...token, metadata: { ...Object.fromEntries(metadata), ...given(token.metadata) } });
}

/** Longer values are not ids. */
const redirectedMax = 2000;

function redirectedValue(query: Redirected['query'], parameter: string): string {
  const value = query[parameter] ?? '';
  if (value !== '' && value.length <= redirectedMax) return value;
  const what = value === '' ? 'no' : `more than ${redirectedMax} characters as`;
  throw new AppError('source_rejected', `The provider sent ${what} "${parameter}". Correct auth.callback in the spec.`);
}

const given = (metadata: Token['metadata']): Token['metadata'] =>
  Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined));

/**
 * Throws `auth_failed` when only the customer can help, and `source_unavailable` for every other failure of the
 * provider.
 */
export async function refreshGrant(
  auth: OauthAuthorizationCode,
  previous: Token | null,
  context: RefreshContext,
): Promise<Token> {
  if (previous === null) {
    const { resourceKey } = context;
    const what = resourceKey === null ? 'This connection' : `The resource "${resourceKey}" of this connection`;
    const message = `${what} is not authorized yet, or was authorized with another client or token URL.`;
    throw new AppError('auth_failed', `${message} ${howToAuthorize(context)}.`, { needsConsent: true });
  }
  const { refreshToken } = previous;
  if (refreshToken === null) {
    const message = 'The API rejected the access token, and the provider issued no refresh token with it.';
    throw new AppError('auth_failed', `${message} ${howToAuthorize(context)}.`, { needsConsent: true });
  }
  const { client, values, now } = context;
  const url = await tokenUrl(auth.refreshUrl ?? auth.tokenUrl, context);
  values.mask(refreshToken);
  const additionalParameters = await values.texts(auth.tokenParams);
  const options = { ...throughClient(client, auth.tokenRequest), additionalParameters };
  try {
    const parties = await partiesAt(url, auth, context);
    const response = await refreshTokenGrantRequest(...parties, refreshToken, options);
    return following(previous, await readGrant(auth, response, now()), auth.refresh.rotation);
  } catch (error) {
    throw explained(error, auth, context);
  }
}

/** Keeps values that the response lacks; `rotation` decides about the refresh token. */
function following(previous: Token, token: Token, rotation: OauthAuthorizationCode['refresh']['rotation']): Token {
  const refreshToken = {
    auto: token.refreshToken ?? previous.refreshToken,
    always: token.refreshToken,
    never: previous.refreshToken,
  }[rotation];
  const metadata = { ...previous.metadata, ...given(token.metadata) };
  return untilRefused({ ...token, refreshToken, metadata });
}

/** Without a refresh token nothing can replace the access token, so it is used until the API rejects it. */
const untilRefused = (token: Token): Token => (token.refreshToken === null ? { ...token, expiresAtMs: null } : token);

/** An unreadable response is more often a proxy's page than a new format, so a retry will get a token. */
function explained(error: unknown, { app }: OauthAuthorizationCode, context: RefreshContext): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, message } = error;
  if (code === 'source_rejected') return new AppError('source_unavailable', message, { cause: error });
  if (code !== 'auth_failed') return error;
  if (app !== undefined && !error.needsConsent) {
    const advice = `Check client id and secret of the OAuth app "${app}" of the org: PATCH /api/v1/oauth-apps/:id.`;
    return new AppError('auth_failed', `${message} ${advice}`, { cause: error });
  }
  const advice = `The grant may have expired or been revoked. ${howToAuthorize(context)}.`;
  return new AppError('auth_failed', `${message} ${advice}`, { cause: error, needsConsent: error.needsConsent });
}

/** Revokes a grant (RFC 7009) if the spec has a `revokeUrl`, throwing what `sendTokenRequest` throws. */
export async function revokeGrant(
  auth: OauthAuthorizationCode,
  { accessToken, refreshToken }: Token,
  context: TokenRequestContext,
): Promise<void> {
  if (auth.revokeUrl === undefined) return;
  const { client, values } = context;
  const url = await tokenUrl(auth.revokeUrl, context);
  const token = refreshToken ?? accessToken;
  values.mask(token);
  const hint = refreshToken === null ? 'access_token' : 'refresh_token';
  const options = { ...throughClient(client), additionalParameters: { token_type_hint: hint } };
  await revocationRequest(...(await partiesAt(url, auth, context)), token, options);
}

/**
 * Identifies a grant's client and provider: the grant survives new secrets and parameters, but not another client or
 * token URL.
 */
export async function grantKey(auth: OauthAuthorizationCode, values: AuthValues): Promise<string> {
  const url = await renderUrl(auth.tokenUrl, values.hole);
  const id = await clientIdOf(auth, values);
  const content = JSON.stringify([auth.kind, url.href, id]);
  return createHash('sha256').update(content).digest('base64url');
}
