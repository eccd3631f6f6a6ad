/** The tokens of an import while they are tried. What the provider gives for them has no other copy, so it is kept at once. */
import type { Db } from '../../../db/client.ts';
import { dropToken, leaseToken, putToken, releaseToken } from '../../../db/queries/connections/tokens.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { conflict } from '../../core/errors.ts';
import { createMemoryTokens } from '../../core/source/auth/memory-tokens.ts';
import { openToken, sealToken } from '../../core/source/auth/sealed-token.ts';
import { leaseSeconds, type StoredToken, type TokenStore } from '../../core/source/auth/token-store.ts';
import type { Deps } from '../../deps.ts';

/** No key of a resource has the mark. */
const importSlot = (resourceKey: string | null): string => `${tokenSlot(resourceKey)}#import`;

/** Disposing lets the next import begin; what was kept stays. */
interface ImportedTokens extends AsyncDisposable {
  readonly store: TokenStore;
  /** Whether the provider has given tokens for the imported ones, in this import or in an earlier one. */
  isRefreshed(): boolean;
  /** For the transaction that stores the tokens as the grant. */
  drop(tx: Db): Promise<void>;
}

interface ImportOptions {
  readonly connectionId: string;
  readonly resourceKey: string | null;
  readonly given: StoredToken;
}

/**
 * Begins with what an earlier import kept for the same refresh token. Throws conflict while another import tries tokens for the
 * same grant.
 */
export async function openImportedTokens(
  { db, secretBox }: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  { connectionId, resourceKey, given }: ImportOptions,
): Promise<ImportedTokens> {
  const key = { connectionId, slot: importSlot(resourceKey) };
  const owner = { orgId: scope.orgId, ownerId: connectionId };
  const lease = await leaseToken(db, scope, { ...key, leaseSeconds });
  if (!lease) {
    throw conflict(
      `Another import of tokens is under way: look at the connection, then try again in ${leaseSeconds} s.`,
    );
  }
  // Sealed, so the refresh token may stand in it.
  const madeFor = JSON.stringify([given.madeFor, given.refreshToken]);
  const found = lease.sealed && openToken(secretBox, lease.sealed, owner);
  const kept = found?.madeFor === madeFor ? withMetadata(found, given) : null;
  let isRefreshed = kept !== null;
  let nonce = lease.sealed?.nonce ?? null;
  const store = createMemoryTokens(kept ?? given, async (token) => {
    const sealed = sealToken(secretBox, { ...withoutGiven(token, given), madeFor }, owner);
    await putToken(db, scope, { ...key, sealed, replaces: nonce });
    nonce = sealed.nonce;
    isRefreshed = true;
  });
  return {
    store,
    isRefreshed: () => isRefreshed,
    drop: (tx) => dropToken(tx, scope, key),
    [Symbol.asyncDispose]: () => releaseToken(db, scope, { ...key, leaseNo: lease.leaseNo }),
  };
}

/** The caller may correct `metadata`, but not what the provider says. */
const withMetadata = (kept: StoredToken, { madeFor, metadata }: StoredToken): StoredToken => ({
  ...kept,
  madeFor,
  metadata: { ...metadata, ...kept.metadata },
});

const withoutGiven = (token: StoredToken, { metadata }: StoredToken): StoredToken => ({
  ...token,
  metadata: Object.fromEntries(Object.entries(token.metadata).filter(([name, value]) => value !== metadata[name])),
});
