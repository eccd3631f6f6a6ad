import { findToken } from '../../db/queries/tokens.ts';
import type { OrgScope } from '../../db/scope.ts';
import { AppError } from '../core/errors.ts';
import { revokeGrant } from '../core/source/authorization-code.ts';
import { openToken } from '../core/source/sealed-token.ts';
import type { Token } from '../core/source/token.ts';
import { type Grant, type GrantDeps, openGrant } from './oauth-grant.ts';

/**
 * Reads what giving back a connection's grant takes, before its secrets are deleted. What it returns does so in the
 * background: nobody waits for it, and when it fails there is a line in the log. Null: there is nothing to give back, or
 * it cannot be read.
 */
export async function prepareRevocation(
  deps: GrantDeps,
  scope: OrgScope,
  connectionId: string,
): Promise<(() => void) | null> {
  try {
    const sealed = await findToken(deps.db, scope, { connectionId, slot: '' });
    if (!sealed) return null;
    const token = openToken(deps.secretBox, sealed, { orgId: scope.orgId, connectionId });
    const grant = await openGrant(deps, scope, connectionId);
    return () => void revoke(deps, { grant, token, connectionId });
  } catch (error) {
    // Another auth kind is no trouble.
    if (!(error instanceof AppError)) deps.log.warn('grant not given back', { connectionId, error });
    return null;
  }
}

async function revoke(
  { log }: GrantDeps,
  { grant, token, connectionId }: { readonly grant: Grant; readonly token: Token; readonly connectionId: string },
): Promise<void> {
  await using held = grant;
  try {
    await revokeGrant(held.auth, token, held.context);
  } catch (error) {
    log.warn('grant not given back', { connectionId, error });
  }
}
