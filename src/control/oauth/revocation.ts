import { findPendingGrants } from '../../../db/queries/connections/pending-grants.ts';
import { findToken, type TokenKey } from '../../../db/queries/connections/tokens.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { resourceOfSlot, tokenSlot } from '../../connect/token-store.ts';
import type { SealedSecret } from '../../core/crypto/secret-box.ts';
import { AppError } from '../../core/errors.ts';
import { grantKey, revokeGrant } from '../../core/source/auth/authorization-code.ts';
import { openToken } from '../../core/source/auth/sealed-token.ts';
import type { StoredToken } from '../../core/source/auth/token-store.ts';
import type { Authorizable } from '../../core/spec/connection/grants.ts';
import { areOfOtherAccounts } from './accounts.ts';
import { type GrantDeps, type Grants, openGrants } from './grant.ts';

interface HeldGrant extends Authorizable {
  readonly token: StoredToken;
  /** Whether it waits for the end of a connect session, and may be of an account that another connection has. */
  readonly isOfSession: boolean;
}

/**
 * Call before the secrets are deleted; the returned function revokes in the background and logs failures. `null` if there is
 * nothing to revoke, or it cannot be read.
 */
export async function prepareRevocation(
  deps: GrantDeps,
  scope: OrgScope,
  connectionId: string,
): Promise<(() => void) | null> {
  try {
    const grants = await openGrants(deps, scope, connectionId);
    const all = await heldGrants(deps, scope, { connectionId, grants });
    const held = all.filter(({ isOfSession }) => !isOfSession);
    if (held.length > 0) return () => void revoke(deps, { grants, held, connectionId });
    await grants[Symbol.asyncDispose]();
    return null;
  } catch (error) {
    // A spec that no longer fits is not an error.
    if (!(error instanceof AppError)) deps.log.warn('grant not revoked at the provider', { connectionId, error });
    return null;
  }
}

/** Includes grants that wait for confirmation. */
async function heldGrants(
  { db, secretBox }: GrantDeps,
  scope: OrgScope,
  { connectionId, grants }: { readonly connectionId: string; readonly grants: Grants },
): Promise<readonly HeldGrant[]> {
  const owner = { orgId: scope.orgId, ownerId: connectionId };
  const waiting = await findPendingGrants(db, scope, connectionId);
  const held: HeldGrant[] = [];
  for (const one of grants.all) {
    const slot = tokenSlot(one.resourceKey);
    const stored = await findToken(db, scope, { connectionId, slot });
    const pending = waiting.find((grant) => grant.slot === slot);
    if (stored) held.push({ ...one, token: openToken(secretBox, stored, owner), isOfSession: false });
    if (pending?.sealed) {
      const token = openToken(secretBox, pending.sealed, owner, 'pending-grant');
      held.push({ ...one, token, isOfSession: pending.sessionId !== null });
    }
  }
  return held;
}

/**
 * A grant stays if another of the connection may be of the same account: many providers revoke all grants of an account
 * together (RFC 7009 2.1). Never rejects: a failure is logged.
 */
export async function revokeUnconfirmed(
  deps: GrantDeps,
  scope: OrgScope,
  { connectionId, slot, sealed }: TokenKey & { readonly sealed: SealedSecret },
): Promise<void> {
  const resourceKey = resourceOfSlot(slot);
  try {
    await using grants = await openGrants(deps, scope, connectionId);
    const { auth } = grants.of(resourceKey);
    const owner = { orgId: scope.orgId, ownerId: connectionId };
    const token = openToken(deps.secretBox, sealed, owner, 'pending-grant');
    // Only a token's own client may revoke it, or should see it.
    if (token.madeFor !== (await grantKey(auth, grants.context.values))) return;
    const held = await heldGrants(deps, scope, { connectionId, grants });
    const mayEnd = ({ token: other }: HeldGrant) =>
      other.madeFor === token.madeFor && !areOfOtherAccounts(auth, other, token);
    if (!held.some(mayEnd)) await revokeGrant(auth, token, grants.context);
  } catch (error) {
    deps.log.warn('grant not revoked at the provider', { connectionId, resourceKey, error });
  }
}

async function revoke(
  { log }: GrantDeps,
  options: { readonly grants: Grants; readonly held: readonly HeldGrant[]; readonly connectionId: string },
): Promise<void> {
  const { held, connectionId } = options;
  await using grants = options.grants;
  for (const { auth, token, resourceKey } of held) {
    try {
      await revokeGrant(auth, token, grants.context);
    } catch (error) {
      log.warn('grant not revoked at the provider', { connectionId, resourceKey, error });
    }
  }
}
