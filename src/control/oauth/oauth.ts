/** How a customer authorizes a connection at their provider: sent there with a signed state, and back with a code. */
import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi';
import {
  lockActiveConnectionsMax,
  lockConnection,
  noteNewAccess,
  putAccounts,
} from '../../../db/queries/connections/connections.ts';
import { insertOauthState, takeOauthState } from '../../../db/queries/connections/oauth-states.ts';
import { replaceToken } from '../../../db/queries/connections/tokens.ts';
import { type OrgScope, orgScope } from '../../../db/scope.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { signToken, type TokenKind, verifyToken } from '../../core/crypto/signed-token.ts';
import { AppError, conflict, found } from '../../core/errors.ts';
import { authorizeUrl, exchangeCode, grantKey } from '../../core/source/auth/authorization-code.ts';
import { sealToken } from '../../core/source/auth/sealed-token.ts';
import type { Deps, OauthSettings } from '../../deps.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { activateWithin, recordActivation } from '../connections/activation.ts';
import { cancelWorkflows } from '../runs/runs.ts';
import { type ApplyDeps, applySchedulesOf } from '../schedules/apply.ts';
import { forgetAccount, isOtherAccount, withAccount } from './accounts.ts';
import { expectedGrants, type GrantDeps, missingGrants, openGrants, orConflict } from './grant.ts';

type OauthDeps = GrantDeps & Pick<Deps, 'oauth'>;

const stateKind: TokenKind = { type: 'oauth-state+jwt', audience: 'oauth-state' };
/** How long a customer has at their provider. */
const stateSeconds = 600;

/** The authorization that a customer is to give. */
interface AuthorizationWish {
  readonly connectionId: string;
  /** A resource with an auth of its own; null: the connection as a whole. */
  readonly resourceKey: string | null;
  /** Whether the customer may choose another account than before. */
  readonly newAccount: boolean;
}

/**
 * The page of the provider where the customer agrees; it holds a state for one use, good for 10 minutes. Throws
 * not_found, validation (no such resource), conflict (another auth kind; the URL cannot be made or may not be called),
 * internal (not configured).
 */
export async function beginAuthorization(
  deps: OauthDeps,
  scope: OrgScope,
  { connectionId, resourceKey, newAccount }: AuthorizationWish,
): Promise<{ readonly authorizeUrl: string }> {
  await using grants = await openGrants(deps, scope, connectionId);
  const { auth } = grants.of(resourceKey);
  const { context } = grants;
  const { stateKeys, redirectUri } = configured(deps);
  const stateId = generateRandomState();
  const claims = {
    jti: stateId,
    ...(resourceKey === null ? {} : { resource: resourceKey }),
    ...(newAccount ? { newAccount } : {}),
  };
  const state = await signToken(stateKeys, stateKind, { claims, ttlSeconds: stateSeconds });
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

/** The query with which the provider sends the customer back. */
export interface Callback {
  /** The code of the provider; undefined: it may be under another name. */
  readonly code?: string | undefined;
  readonly state: string;
  /** The issuer's identifier (RFC 9207); undefined when the provider sends none. */
  readonly iss?: string | undefined;
  /** Every other parameter. */
  readonly others: Readonly<Record<string, string>>;
}

/** The result of an authorization. */
interface Authorized {
  readonly connected: true;
  readonly connectionId: string;
  /** Resources whose own authorization is still missing; null: that of the connection. Absent: none is. */
  readonly awaiting?: (string | null)[];
}

/**
 * Exchanges the code and, unless another authorization is missing, sets the connection active. The state is its own
 * credential and used up by the attempt. Throws unauthorized (state unknown, expired or used, or a response of another
 * issuer), conflict (the provider gave no token, the resource is not found, or the account is another one, which was not
 * agreed to), plan_limit (the grant is stored all the same), not_found (deleted meanwhile), internal (not configured).
 */
export async function finishAuthorization(
  deps: OauthDeps & ApplyDeps,
  { code, state, iss, others }: Callback,
): Promise<Authorized> {
  const claims = await verifyState(deps, state);
  const begun = claims.jti === undefined ? undefined : await takeOauthState(deps.db, hashOf(claims.jti));
  if (!begun || !isFrom(begun.issuer, iss)) throw unauthorized();
  const { connectionId, redirectUri, verifier } = begun;
  const scope = orgScope(begun.orgId);
  await using grants = await openGrants(deps, scope, connectionId);
  const { context } = grants;
  const requested = typeof claims['resource'] === 'string' ? claims['resource'] : null;
  const grant = await orConflict(async () => grants.of(requested));
  const { auth, resourceKey } = grant;
  const codeVerifier = verifier && deps.secretBox.open(verifier, verifierOf(scope, connectionId));
  const token = await orConflict(async () => ({
    ...(await exchangeCode(auth, { query: { ...others, code }, redirectUri, codeVerifier }, context)),
    madeFor: await grantKey(auth, context.values),
  }));
  const sealed = sealToken(deps.secretBox, token, { orgId: scope.orgId, ownerId: connectionId });
  const expected = await expectedGrants(grants);
  const stopped = await deps.db.transaction().execute(async (tx) => {
    const { accounts } = found(await lockConnection(tx, scope, connectionId), 'Connection');
    const isOther = await isOtherAccount(deps, tx, scope, { connectionId, grant, token });
    if (isOther && claims['newAccount'] !== true) throw otherAccount();
    await replaceToken(tx, scope, { connectionId, slot: tokenSlot(resourceKey), sealed });
    await noteNewAccess(tx, scope, connectionId);
    await putAccounts(tx, scope, { id: connectionId, accounts: withAccount(accounts, grant, token) });
    return isOther ? forgetAccount(tx, scope, { connectionId, resourceKeys: grants.readersOf(grant) }) : [];
  });
  await cancelWorkflows(deps, scope, stopped);
  // The grant stays where the plan allows no other active connection.
  const awaiting = await deps.db.transaction().execute(async (tx) => {
    // In the order of an activation. Of two authorizations that end at once, the later one sees the other's token.
    await lockActiveConnectionsMax(tx, scope);
    found(await lockConnection(tx, scope, connectionId), 'Connection');
    const missing = await missingGrants(deps, tx, scope, { connectionId, expected });
    if (missing.length > 0) return missing;
    const activation = await activateWithin(tx, scope, connectionId);
    await recordActivation(tx, scope, { ...activation, reason: 'oauth' });
    return missing;
  });
  deps.log.info('connection authorized', { orgId: scope.orgId, connectionId, resourceKey, awaiting: awaiting.length });
  void wakeEndpoints(deps, scope);
  await applySchedulesOf(deps, scope, connectionId);
  return { connected: true, connectionId, ...(awaiting.length === 0 ? {} : { awaiting }) };
}

/** The claims of a state that this service signed. Throws unauthorized, internal (not configured). */
export async function verifyState(deps: Pick<OauthDeps, 'oauth'>, state: string): Promise<JWTPayload> {
  const { stateKeys } = configured(deps);
  const claims = await verifyToken(stateKeys, stateKind, { token: state, requiredClaims: ['jti'] });
  if (!claims) throw unauthorized();
  return claims;
}

function configured({ oauth }: Pick<OauthDeps, 'oauth'>): OauthSettings {
  if (oauth) return oauth;
  throw new AppError('internal', 'OAuth is not configured on this deployment: set OAUTH_STATE_KEYS.');
}

const otherAccount = (): AppError =>
  conflict(
    'The customer signed in to another account of the provider than before, so nothing was changed. Authorize again with ?newAccount=true if that is meant: everything is then read from the start.',
  );

const unauthorized = (): AppError => {
  const message = `The state is unknown, was used already, or is older than ${stateSeconds / 60} minutes.`;
  return new AppError('unauthorized', `${message} Start again: GET /api/v1/oauth/:connectionId/authorize.`);
};

/**
 * Whether a response comes from where the customer was sent. Specs name no issuer, so its origin has to be that of the
 * page: a provider that forwards to another one, to get at that one's codes, does not pass.
 */
const isFrom = (issuer: string, iss: string | undefined): boolean =>
  iss === undefined || (URL.canParse(iss) && new URL(iss).origin === issuer);

const hashOf = (stateId: string): Buffer => createHash('sha256').update(stateId).digest();

const verifierOf = ({ orgId }: OrgScope, connectionId: string) =>
  ({ orgId, ownerId: connectionId, kind: 'oauth-verifier' }) as const;
