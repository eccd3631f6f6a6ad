/** Authorization of a connection at its provider: the customer leaves with a signed state, and returns with a code. */
import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi';
import { insertOauthState, type OauthState, takeOauthState } from '../../../db/queries/connections/oauth-states.ts';
import { readAuthorizationSettings } from '../../../db/queries/orgs/authorization-settings.ts';
import { type OrgScope, orgScope } from '../../../db/scope.ts';
import { isConnectSecret } from '../../core/crypto/connect-token.ts';
import { signToken, type TokenKind, verifyToken } from '../../core/crypto/signed-token.ts';
import { AppError, conflict } from '../../core/errors.ts';
import type { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';
import { authorizeUrl, exchangeCode, grantKey } from '../../core/source/auth/authorization-code.ts';
import type { Deps, OauthSettings } from '../../deps.ts';
import type { CandidateValues } from '../connections/values.ts';
import type { ApplyDeps } from '../schedules/apply.ts';
import { matchAccount } from './accounts.ts';
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
const stateSeconds = 600;

interface AuthorizationWish {
  readonly connectionId: string;
  /** A resource with its own auth, or `null` for the connection as a whole. */
  readonly resourceKey: string | null;
  /** True if the customer may choose another account than before. */
  readonly newAccount: boolean;
  /**
   * The page of the org where the customer lands, and whose server confirms the grant. `null` if no confirmation is needed.
   */
  readonly returnUrl: string | null;
  /** The connect session for which its customer begins; their browser has to finish it. */
  readonly session?: { readonly id: string; readonly browserHash: Buffer };
  /** What the customer has entered and the connection does not have yet. */
  readonly candidate?: CandidateValues | undefined;
}

/**
 * Returns the provider's page; its state is good for one use within 10 minutes. Throws not_found, validation (no such
 * resource, or not a return URL), internal (not configured). Throws conflict (another auth kind; the URL cannot be made or
 * may not be called; the org requires a return URL).
 */
export async function beginAuthorization(
  deps: OauthDeps,
  scope: OrgScope,
  { connectionId, resourceKey, newAccount, returnUrl, session, candidate }: AuthorizationWish,
): Promise<{ readonly authorizeUrl: string }> {
  await using grants = await openGrants(deps, scope, connectionId, candidate);
  const settings = await readAuthorizationSettings(deps.db, scope);
  if (returnUrl === null && !session) requireNoConfirmation(settings);
  const { auth } = grants.of(resourceKey);
  const { context } = grants;
  const { stateKeys, redirectUri } = configured(deps);
  const stateId = generateRandomState();
  const claims = {
    jti: stateId,
    org: scope.orgId,
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
    session: session ?? null,
    verifier: codeVerifier === null ? null : deps.secretBox.seal(codeVerifier, verifierOf(scope, connectionId)),
    ttlSeconds: stateSeconds,
  });
  return { authorizeUrl: url.href };
}

export interface Callback {
  /** Undefined if it may have another name. */
  readonly code?: string | undefined;
  readonly state: string;
  /** The issuer's identifier (RFC 9207); undefined when the provider sends none. */
  readonly iss?: string | undefined;
  readonly others: Readonly<Record<string, string>>;
}

export interface SentBack {
  readonly returnAddress: string;
}

/** What the customer of a connect session brings back: the code of a grant that waits, or why there is none. */
export interface ForSession {
  readonly scope: OrgScope;
  readonly sessionId: string;
  readonly resourceKey: string | null;
  readonly outcome: ReturnParameter;
}

/** What is known where the customer comes back. */
export interface ComingBack {
  /** The cookie of the browser; `null` if it has none. */
  readonly browser: string | null;
  /** What the customer of a session has entered and its connection does not have yet. */
  readonly candidateOf: (scope: OrgScope, sessionId: string) => Promise<CandidateValues | undefined>;
}

/**
 * Without a return URL the grant is stored, and the connection becomes active unless another authorization is missing. With a
 * return URL the grant waits for confirmation, and the page gets its code or an error code. The state is its own credential
 * and is used up by the attempt.
 *
 * Throws unauthorized (state unknown, expired or used, or a response of another issuer), plan_limit (the grant is stored all
 * the same), not_found (deleted meanwhile), internal (not configured). Throws conflict (the provider gave no token, the
 * resource is not found, the account changed without agreement, or the settings of the org changed).
 */
export async function finishAuthorization(
  deps: OauthDeps & ApplyDeps,
  { state, ...callback }: Callback,
  { browser, candidateOf }: ComingBack,
): Promise<Authorized | SentBack | ForSession> {
  const begun = await takeBegun(deps, state);
  if (!begun) throw unauthorized();
  if (begun.session)
    return await finishForSession(deps, { ...begun, session: begun.session }, { callback, browser, candidateOf });
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

/** A browser that did not begin gets nothing: its person would connect their account to the connection of somebody else. */
async function finishForSession(
  deps: OauthDeps,
  begun: Begun & { readonly session: NonNullable<OauthState['session']> },
  { callback, browser, candidateOf }: ComingBack & { readonly callback: Omit<Callback, 'state'> },
): Promise<ForSession> {
  const { scope, session, resourceKey } = begun;
  const ended = { scope, sessionId: session.id, resourceKey };
  if (browser === null || !isConnectSecret(browser, session.browserHash)) {
    return { ...ended, outcome: { error: 'other_browser' } };
  }
  const candidate = await candidateOf(scope, session.id);
  return { ...ended, outcome: await pendingCode(deps, { ...begun, candidate }, callback) };
}

/**
 * For a customer who did not or could not agree. Changes nothing and returns `null` if the authorization is unknown or has no
 * return URL. Throws unauthorized (no state of this service), conflict (the org no longer allows the page), internal (not
 * configured).
 */
export async function declineAuthorization(
  deps: OauthDeps,
  { state, error }: Pick<Callback, 'state'> & { readonly error: string },
): Promise<SentBack | ForSession | null> {
  const begun = await takeBegun(deps, state, { returnsOnly: true });
  if (begun?.session) {
    const { scope, session, resourceKey } = begun;
    return { scope, sessionId: session.id, resourceKey, outcome: { error: shownProviderError(error) } };
  }
  if (!begun || begun.returnUrl === null) return null;
  recheckReturnUrl(begun.returnUrl, await readAuthorizationSettings(deps.db, begun.scope));
  return { returnAddress: returnAddress(begun.returnUrl, { error: shownProviderError(error) }) };
}

interface Begun extends OauthState, Omit<AuthorizationWish, 'session'> {
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

async function obtaining<Result>(
  deps: OauthDeps,
  begun: Begun,
  { code, iss, others }: Omit<Callback, 'state'>,
  use: (grants: Grants, obtained: ObtainedGrant) => Promise<Result>,
): Promise<Result> {
  const { scope, connectionId, redirectUri, verifier, newAccount } = begun;
  if (!isFrom(begun.issuer, iss)) throw unauthorized();
  await using grants = await openGrants(deps, scope, connectionId, begun.candidate);
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

/** Errors go to the page of the org too, because the customer cannot resolve them. */
async function pendingCode(deps: OauthDeps, begun: Begun, callback: Omit<Callback, 'state'>): Promise<ReturnParameter> {
  const { scope, connectionId } = begun;
  try {
    return await obtaining(deps, begun, callback, async (_grants, obtained) => {
      const isOther =
        begun.session !== null &&
        !obtained.newAccount &&
        (await matchAccount(deps, deps.db, scope, { connectionId, ...obtained })) === 'other';
      return isOther
        ? { error: 'other_account' }
        : { code: await keepPending(deps, scope, { ...obtained, connectionId, sessionId: begun.session?.id ?? null }) };
    });
  } catch (error) {
    const facts = { orgId: scope.orgId, connectionId, error };
    if (error instanceof AppError) deps.log.info('authorization failed', facts);
    else deps.log.error('authorization failed', facts);
    return { error: error instanceof AppError ? error.code : 'internal' };
  }
}

/** Throws unauthorized, internal (not configured). */
export async function verifyState(
  deps: Pick<OauthDeps, 'oauth'>,
  state: string,
): Promise<JWTPayload & { readonly org: string }> {
  const { stateKeys } = configured(deps);
  const claims = await verifyToken(stateKeys, stateKind, { token: state, requiredClaims: ['jti', 'org'] });
  const org = claims?.['org'];
  if (typeof org !== 'string') throw unauthorized();
  return { ...claims, org };
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
 * Specs name no issuer, so its origin must equal that of the provider's page. This stops a provider that forwards to another
 * one to obtain that one's codes.
 */
const isFrom = (issuer: string, iss: string | undefined): boolean =>
  iss === undefined || (URL.canParse(iss) && new URL(iss).origin === issuer);

const hashOf = (stateId: string): Buffer => createHash('sha256').update(stateId).digest();

const verifierOf = ({ orgId }: OrgScope, connectionId: string) =>
  ({ orgId, ownerId: connectionId, kind: 'oauth-verifier' }) as const;
