/** How a customer authorises a connection at their provider: sent there with a signed state, and back with a code. */
import { createHash } from 'node:crypto';
import { generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi';
import { lockConnection } from '../../db/queries/connections.ts';
import { insertOauthState, takeOauthState } from '../../db/queries/oauth-states.ts';
import { replaceToken } from '../../db/queries/tokens.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { signToken, type TokenKind, verifyToken } from '../core/crypto/signed-token.ts';
import { AppError, notFound } from '../core/errors.ts';
import { authorizeUrl, exchangeCode, grantKey } from '../core/source/authorization-code.ts';
import { sealToken } from '../core/source/sealed-token.ts';
import type { Deps, OauthSettings } from '../deps.ts';
import { activateWithin } from './connections.ts';
import { type GrantDeps, openGrant, orConflict } from './oauth-grant.ts';
import { type ApplyDeps, applySchedulesOf } from './schedule-apply.ts';

type OauthDeps = GrantDeps & Pick<Deps, 'oauth'>;

const stateKind: TokenKind = { type: 'oauth-state+jwt', audience: 'oauth-state' };
/** How long a customer has at their provider. */
const stateSeconds = 600;

/**
 * The page of the provider where the customer agrees; it holds a state for one use, good for 10 minutes. Throws
 * not_found, conflict (another auth kind; the URL cannot be made or may not be called), internal (not configured).
 */
export async function beginAuthorization(
  deps: OauthDeps,
  scope: OrgScope,
  connectionId: string,
): Promise<{ readonly authorizeUrl: string }> {
  await using grant = await openGrant(deps, scope, connectionId);
  const { auth, context } = grant;
  const { stateKeys, redirectUri } = configured(deps);
  const stateId = generateRandomState();
  const state = await signToken(stateKeys, stateKind, { claims: { jti: stateId }, ttlSeconds: stateSeconds });
  const codeVerifier = auth.pkce ? generateRandomCodeVerifier() : null;
  const url = await orConflict(async () => {
    const made = await authorizeUrl(auth, context.values, { redirectUri, state, codeVerifier });
    deps.egress.checkUrl(made);
    return made;
  });
  await insertOauthState(deps.db, scope, {
    stateHash: hashOf(stateId),
    connectionId,
    redirectUri,
    issuer: url.origin,
    verifier: codeVerifier === null ? null : deps.secretBox.seal(codeVerifier, verifierOf(scope, connectionId)),
    ttlSeconds: stateSeconds,
  });
  return { authorizeUrl: url.href };
}

/** What the provider sends the customer back with. */
export interface Callback {
  readonly code: string;
  readonly state: string;
  /** The issuer's identifier (RFC 9207); undefined when the provider sends none. */
  readonly iss?: string | undefined;
}

/**
 * Exchanges the code and sets the connection active, tokens and status in one transaction. The state is its own
 * credential and used up by the attempt. Throws unauthorized (state unknown, over or used, or an answer of another
 * issuer), conflict (the provider gave no token), plan_limit, not_found (deleted meanwhile), internal (not configured).
 */
export async function finishAuthorization(
  deps: OauthDeps & ApplyDeps,
  { code, state, iss }: Callback,
): Promise<{ readonly connected: true; readonly connectionId: string }> {
  const { stateKeys } = configured(deps);
  const claims = await verifyToken(stateKeys, stateKind, { token: state, requiredClaims: ['jti'] });
  const begun = claims?.jti === undefined ? undefined : await takeOauthState(deps.db, hashOf(claims.jti));
  if (!begun || !isFrom(begun.issuer, iss)) throw unauthorized();
  const { connectionId, redirectUri, verifier } = begun;
  const scope = orgScope(begun.orgId);
  await using grant = await openGrant(deps, scope, connectionId);
  const { auth, context } = grant;
  const codeVerifier = verifier && deps.secretBox.open(verifier, verifierOf(scope, connectionId));
  const token = await orConflict(async () => ({
    ...(await exchangeCode(auth, { code, redirectUri, codeVerifier }, context)),
    madeFor: await grantKey(auth, context.values),
  }));
  const sealed = sealToken(deps.secretBox, token, { orgId: scope.orgId, connectionId });
  await deps.db.transaction().execute(async (trx) => {
    await activateWithin(trx, scope, connectionId);
    if (!(await lockConnection(trx, scope, connectionId))) throw notFound('Connection');
    await replaceToken(trx, scope, { connectionId, slot: '', sealed });
  });
  deps.log.info('connection authorised', { orgId: scope.orgId, connectionId });
  await applySchedulesOf(deps, scope, connectionId);
  return { connected: true, connectionId };
}

function configured({ oauth }: Pick<OauthDeps, 'oauth'>): OauthSettings {
  if (oauth) return oauth;
  throw new AppError('internal', 'OAuth is not configured on this deployment: set OAUTH_STATE_KEYS.');
}

const unauthorized = (): AppError => {
  const message = 'The state is unknown, was used already, or is older than 10 minutes.';
  return new AppError('unauthorized', `${message} Start again: GET /api/v1/oauth/:connectionId/authorize.`);
};

/**
 * Whether an answer comes from where the customer was sent. Specs name no issuer, so its origin has to be that of the
 * page: a provider that forwards to another one, to get at that one's codes, does not pass.
 */
const isFrom = (issuer: string, iss: string | undefined): boolean =>
  iss === undefined || (URL.canParse(iss) && new URL(iss).origin === issuer);

const hashOf = (stateId: string): Buffer => createHash('sha256').update(stateId).digest();

const verifierOf = ({ orgId }: OrgScope, connectionId: string) =>
  ({ orgId, connectionId, kind: 'oauth-verifier' }) as const;
