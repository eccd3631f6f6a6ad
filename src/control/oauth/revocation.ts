import { findToken } from '../../../db/queries/connections/tokens.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { AppError } from '../../core/errors.ts';
import { revokeGrant } from '../../core/source/auth/authorization-code.ts';
import { openToken } from '../../core/source/auth/sealed-token.ts';
import type { Token } from '../../core/source/auth/token.ts';
import { type Authorizable, type GrantDeps, type Grants, openGrants } from './grant.ts';

/** A grant and the tokens that it gave. */
interface HeldGrant extends Authorizable {
  readonly token: Token;
}

/**
 * Reads what revoking a connection's grants needs, before its secrets are deleted. The returned function revokes them
 * in the background: nothing waits for it, and a failure is logged. Null: there is nothing to revoke, or it cannot be
 * read.
 */
export async function prepareRevocation(
  deps: GrantDeps,
  scope: OrgScope,
  connectionId: string,
): Promise<(() => void) | null> {
  try {
    const grants = await openGrants(deps, scope, connectionId);
    const held: HeldGrant[] = [];
    for (const one of grants.all) {
      const sealed = await findToken(deps.db, scope, { connectionId, slot: tokenSlot(one.resourceKey) });
      const owner = { orgId: scope.orgId, ownerId: connectionId };
      if (sealed) held.push({ ...one, token: openToken(deps.secretBox, sealed, owner) });
    }
    if (held.length > 0) return () => void revoke(deps, { grants, held, connectionId });
    await grants[Symbol.asyncDispose]();
    return null;
  } catch (error) {
    // A spec that no longer fits is not an error.
    if (!(error instanceof AppError)) deps.log.warn('grant not revoked at the provider', { connectionId, error });
    return null;
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
