/** Tokens that an org brings along from elsewhere, so that its customers need not authorize again. */
import type { Db } from '../../../db/client.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { conflict, type Issue, invalid, schemaIssue } from '../../core/errors.ts';
import { grantKey } from '../../core/source/auth/authorization-code.ts';
import type { StoredToken } from '../../core/source/auth/token-store.ts';
import type { OauthAuthorizationCode } from '../../core/spec/schema/auth-schema.ts';
import { type ConnectionTestDeps, testConnection } from '../connections/test-connection.ts';
import type { ApplyDeps } from '../schedules/apply.ts';
import { type AccountMatch, matchAccount } from './accounts.ts';
import { type GrantDeps, openGrants, orConflict } from './grant.ts';
import { openImportedTokens } from './imported-tokens.ts';
import { storeAtOnce } from './pending.ts';
import type { Authorized } from './store-grant.ts';

type Kept = string | number | boolean;

interface TokenImport {
  readonly connectionId: string;
  /** A resource with its own auth, or `null` for the connection as a whole. */
  readonly resourceKey: string | null;
  readonly accessToken: string;
  readonly refreshToken: string | null;
  /** Of the access token; `null` if it is not known. */
  readonly expiresAt: string | null;
  /** What expressions see as `auth`. */
  readonly metadata: Readonly<Record<string, Kept>>;
  /** True if the tokens may be of another account than before. */
  readonly newAccount: boolean;
}

/**
 * Tries the tokens first: a refresh token is used, then a page is read. A refresh that succeeded counts even if the API cannot
 * be read at the moment. What the provider gave is kept in any case: a repeated import goes on with it.
 *
 * Throws not_found, validation (no such resource; values that the spec needs or does not know), plan_limit (the tokens are
 * stored all the same). Throws conflict (another auth kind, refused by the provider or the API, another account that was not
 * agreed to, or another import under way).
 */
export async function importTokens(
  deps: GrantDeps & ConnectionTestDeps & ApplyDeps,
  scope: OrgScope,
  { connectionId, resourceKey, newAccount, ...given }: TokenImport,
): Promise<Authorized> {
  await using grants = await openGrants(deps, scope, connectionId);
  const grant = grants.of(resourceKey);
  refuseBadValues(grant.auth, given);
  const match = async (tx: Db, token: Pick<StoredToken, 'metadata'>): Promise<AccountMatch> =>
    newAccount ? 'same' : await matchAccount(deps, tx, scope, { connectionId, grant, token });
  // Before the refresh token is used, as far as it can be seen by then; the grant is compared again when it is stored.
  const before = await match(deps.db, given);
  if (before === 'other' || given.refreshToken === null) refuseAccount(before, grant.auth, '');
  const madeFor = await orConflict(() => grantKey(grant.auth, grants.context.values));
  const token = tokenOf(given, madeFor, grants.context.now());
  await using imported = await openImportedTokens(deps, scope, { connectionId, resourceKey, given: token });
  const { store } = imported;
  const [reader = null] = grants.readersOf(grant);
  const { test, needsConsent } = await testConnection(deps, scope, {
    connectionId,
    resourceKey: reader,
    only: 'source',
    candidate: { tokens: new Map([[tokenSlot(resourceKey), store]]) },
  });
  const tried = await store.read();
  const failed = test.steps.find(({ ok }) => !ok);
  const isRefreshed = imported.isRefreshed();
  if (!failed && !isRefreshed && test.calls.length === 0) {
    throw conflict('The tokens were not imported: no request could check them.');
  }
  if (!tried || (failed && !(isRefreshed && failed.step === 'source' && failed.code !== 'auth_failed'))) {
    const advice =
      isRefreshed && !needsConsent ? `${keptTokens} After the correction send the same request again.` : '';
    throw conflict(`The tokens were not imported, and the connection is as before. ${failed?.message ?? ''}${advice}`);
  }
  return await storeAtOnce(deps, scope, {
    connectionId,
    grants,
    obtained: { grant, token: tried, newAccount },
    async also(tx) {
      refuseAccount(await match(tx, tried), grant.auth, isRefreshed ? keptTokens : '');
      await imported.drop(tx);
    },
  });
}

const keptTokens = ' The tokens that the provider gave for them are kept.';

function refuseAccount(match: AccountMatch, { account = [] }: OauthAuthorizationCode, kept: string): void {
  if (match === 'same') return;
  const isOther = match === 'other';
  const why = isOther ? 'The tokens are of another account than before' : 'The account of the tokens is not known';
  const name = isOther ? '' : `Name it in metadata (${account.join(', ')}). `;
  throw conflict(
    `${why}, so the connection is as before.${kept} ${name}Send the same request with newAccount: true if ${isOther ? 'that is meant' : 'it may be another one'}: everything is then read from the start.`,
  );
}

function tokenOf(
  { accessToken, refreshToken, metadata }: Pick<TokenImport, 'accessToken' | 'refreshToken' | 'metadata'>,
  madeFor: string,
  now: Date,
): StoredToken {
  // One that is over is refreshed before it is used; one that nothing can replace is used until it is refused.
  const expiresAtMs = refreshToken === null ? null : 0;
  return { accessToken, refreshToken, expiresAtMs, obtainedAtMs: now.getTime(), metadata, madeFor };
}

/** The provider gives `tokenResponse.metadata` with each token; `callback.metadata` only comes with a customer. */
function refuseBadValues(
  { callback, tokenResponse }: OauthAuthorizationCode,
  { metadata, refreshToken, expiresAt }: Pick<TokenImport, 'metadata' | 'refreshToken' | 'expiresAt'>,
): void {
  const [needed, known] = [
    Object.keys(callback.metadata),
    new Set(Object.keys({ ...tokenResponse.metadata, ...callback.metadata })),
  ];
  const isOver = refreshToken === null && expiresAt !== null && Date.parse(expiresAt) <= Date.now();
  const issues: readonly Issue[] = [
    ...(isOver ? [schemaIssue('expiresAt', 'is over, and there is no refresh token: let the customer authorize')] : []),
    ...needed
      .filter((name) => !Object.hasOwn(metadata, name))
      .map((name) =>
        schemaIssue(`metadata.${name}`, 'is missing: requests need it, and the provider tells it only to a customer'),
      ),
    ...Object.keys(metadata)
      .filter((name) => !known.has(name))
      .map((name) => schemaIssue(`metadata.${name}`, 'is nothing that the spec keeps of a token')),
  ];
  if (issues.length > 0) throw invalid('The values do not fit the spec.', issues);
}
