/** How a customer authorizes a connection at their provider: sent there with a signed state, and back with a code. */
import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi';
import { insertOauthState, type OauthState, takeOauthState } from '../../../db/queries/connections/oauth-states.ts';
import { readAuthorizationSettings } from '../../../db/queries/orgs/authorization-settings.ts';
import { type OrgScope, orgScope } from '../../../db/scope.ts';
import { signToken, type TokenKind, verifyToken } from '../../core/crypto/signed-token.ts';
import { AppError, conflict } from '../../core/errors.ts';
import type { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';
import { authorizeUrl, exchangeCode, grantKey } from '../../core/source/auth/authorization-code.ts';
import type { Deps, OauthSettings } from '../../deps.ts';
import type { ApplyDeps } from '../schedules/apply.ts';
import { type GrantDeps, type Grants, openGrants, orConflict } from './grant.ts';
import { keepPending, storeAtOnce } from './pending.ts';
import {
  checkReturnUrl,
  type ReturnParameter,
  recheckReturnUrl,
  returnAddress,
  shownProviderError,
} from './return-url.ts';
import type { Authorized, ObtainedGrant } from './store-grant.ts';

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
  /** The page of the org that the customer is sent to, and whose server confirms the grant; null: nobody has to. */
  readonly returnUrl: string | null;
}

/**
 * The page of the provider where the customer agrees; it holds a state for one use, good for 10 minutes. Throws
 * not_found, validation (no such resource, or not a return URL), conflict (another auth kind; the URL cannot be made or may
 * not be called; the org requires a return URL), internal (not configured).
 */
export async function beginAuthorization(
  deps: OauthDeps,
  scope: OrgScope,
  { connectionId, resourceKey, newAccount, returnUrl }: AuthorizationWish,
): Promise<{ readonly authorizeUrl: string }> {
  await using grants = await openGrants(deps, scope, connectionId);
  const settings = await readAuthorizationSettings(deps.db, scope);
  if (returnUrl === null) requireNoConfirmation(settings);
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
    returnUrl: returnUrl === null ? null : checkReturnUrl(returnUrl, settings),
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

/** The browser of the customer goes on to a page of the org. */
export interface SentBack {
  readonly returnAddress: string;
}

/**
 * Exchanges the code. Without a return URL the grant is stored and, unless another authorization is missing, the
 * connection becomes active. With one the grant waits to be confirmed, and the page gets its code, or that of an error.
 * The state is its own credential and used up by the attempt. Throws unauthorized (state unknown, expired or used, or a
 * response of another issuer), conflict (the provider gave no token, the resource is not found, the account is another
 * one, which was not agreed to, or the settings of the org changed), plan_limit (the grant is stored all the same),
 * not_found (deleted meanwhile), internal (not configured).
 */
export async function finishAuthorization(
  deps: OauthDeps & ApplyDeps,
  { state, ...callback }: Callback,
): Promise<Authorized | SentBack> {
  const begun = await takeBegun(deps, state);
  if (!begun) throw unauthorized();
  const { scope, connectionId, returnUrl } = begun;
  const settings = await readAuthorizationSettings(deps.db, scope);
  if (returnUrl === null) {
    requireNoConfirmation(settings);
    return await obtaining(deps, begun, callback, (grants, obtained) =>
      storeAtOnce(deps, scope, { connectionId, grants, obtained }),
    );
  }
  recheckReturnUrl(returnUrl, settings);
  return { returnAddress: returnAddress(returnUrl, await pendingCode(deps, begun, callback)) };
}

/**
 * Sends the customer, who did not agree or could not, back to the page of the org with the code of the error. Null: the
 * authorization has no return URL, or is unknown; then nothing changes. Throws unauthorized (no state of this service),
 * conflict (the org no longer allows the page), internal (not configured).
 */
export async function declineAuthorization(
  deps: OauthDeps,
  { state, error }: Pick<Callback, 'state'> & { readonly error: string },
): Promise<SentBack | null> {
  const begun = await takeBegun(deps, state, { returnsOnly: true });
  if (!begun || begun.returnUrl === null) return null;
  recheckReturnUrl(begun.returnUrl, await readAuthorizationSettings(deps.db, begun.scope));
  return { returnAddress: returnAddress(begun.returnUrl, { error: shownProviderError(error) }) };
}

/** An authorization in progress, as its state and its row say. */
interface Begun extends OauthState, AuthorizationWish {
  readonly scope: OrgScope;
}

async function takeBegun(
  deps: OauthDeps,
  state: string,
  options?: { readonly returnsOnly: boolean },
): Promise<Begun | undefined> {
  const { jti, resource, newAccount } = await verifyState(deps, state);
  const begun = jti === undefined ? undefined : await takeOauthState(deps.db, hashOf(jti), options);
  if (!begun) return undefined;
  const resourceKey = typeof resource === 'string' ? resource : null;
  return { ...begun, scope: orgScope(begun.orgId), resourceKey, newAccount: newAccount === true };
}

/** The result of `use` with the grant that the code of a callback is exchanged for. */
async function obtaining<Result>(
  deps: OauthDeps,
  begun: Begun,
  { code, iss, others }: Omit<Callback, 'state'>,
  use: (grants: Grants, obtained: ObtainedGrant) => Promise<Result>,
): Promise<Result> {
  const { scope, connectionId, redirectUri, verifier, newAccount } = begun;
  if (!isFrom(begun.issuer, iss)) throw unauthorized();
  await using grants = await openGrants(deps, scope, connectionId);
  const { context } = grants;
  const grant = await orConflict(async () => grants.of(begun.resourceKey));
  const { auth } = grant;
  const codeVerifier = verifier && deps.secretBox.open(verifier, verifierOf(scope, connectionId));
  const token = await orConflict(async () => ({
    ...(await exchangeCode(auth, { query: { ...others, code }, redirectUri, codeVerifier }, context)),
    madeFor: await grantKey(auth, context.values),
  }));
  return await use(grants, { grant, token, newAccount });
}

/** What the page of the org gets; an error never ends at the customer, who could do nothing about it. */
async function pendingCode(deps: OauthDeps, begun: Begun, callback: Omit<Callback, 'state'>): Promise<ReturnParameter> {
  const { scope, connectionId } = begun;
  try {
    return await obtaining(deps, begun, callback, async (_grants, obtained) => ({
      code: await keepPending(deps, scope, { ...obtained, connectionId }),
    }));
  } catch (error) {
    const facts = { orgId: scope.orgId, connectionId, error };
    if (error instanceof AppError) deps.log.info('authorization failed', facts);
    else deps.log.error('authorization failed', facts);
    return { error: error instanceof AppError ? error.code : 'internal' };
  }
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

function requireNoConfirmation({ confirmationRequired }: AuthorizationSettings): void {
  if (!confirmationRequired) return;
  throw conflict(
    'The org requires authorizations to be confirmed: GET /api/v1/oauth/:connectionId/authorize with ?returnUrl, then POST /api/v1/oauth/confirm.',
  );
}

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
