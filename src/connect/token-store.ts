import { findToken, leaseToken, putToken, releaseToken, type TokenKey } from '../../db/queries/connections/tokens.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { SealedSecret } from '../core/crypto/secret-box.ts';
import { openToken, sealToken } from '../core/source/auth/sealed-token.ts';
import { leaseSeconds, type StoredToken, type TokenStore } from '../core/source/auth/token-store.ts';
import type { Deps } from '../deps.ts';

/** `resourceKey` names a resource with its own auth, `null` the auth of the spec. */
export const tokenSlot = (resourceKey: string | null): string => resourceKey ?? '';

/** The inverse of {@link tokenSlot}. */
export const resourceOfSlot = (slot: string): string | null => (slot === '' ? null : slot);

/** Sealed tokens in the control database, shared by all workers; see `keepAliveSeconds` of the spec. */
export function createTokenStore(
  { db, secretBox }: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  key: TokenKey,
  keepAliveSeconds: number | null = null,
): TokenStore {
  const owner = { orgId: scope.orgId, ownerId: key.connectionId };
  const open = (sealed: SealedSecret | null): StoredToken | null =>
    sealed ? openToken(secretBox, sealed, owner) : null;
  return {
    read: async () => open(await findToken(db, scope, key)),
    lease: async () => {
      const leased = await leaseToken(db, scope, { ...key, leaseSeconds });
      if (!leased) return null;
      const { leaseNo, sealed: replaced } = leased;
      return {
        stored: open(replaced),
        save: async (token) => {
          const sealed = sealToken(secretBox, token, owner);
          await putToken(db, scope, {
            ...key,
            sealed,
            replaces: replaced?.nonce ?? null,
            keepAliveSeconds: token.refreshToken === null ? null : keepAliveSeconds,
          });
        },
        release: () => releaseToken(db, scope, { ...key, leaseNo }),
      };
    },
  };
}
