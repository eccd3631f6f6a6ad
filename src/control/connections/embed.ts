import { findConnection } from '../../../db/queries/connections/connections.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { type EmbedScope, signEmbedToken } from '../../core/crypto/embed-token.ts';
import { AppError, found } from '../../core/errors.ts';
import { isId } from '../../core/ids.ts';
import type { Deps } from '../../deps.ts';

/**
 * Lets a browser read the freshness of one connection, and do what the scopes say, until `expiresAt`, in epoch seconds. Throws not_found (connection),
 * internal (not configured).
 */
export async function mintEmbedToken(
  { db, embed: { keys, issuer } }: Pick<Deps, 'db' | 'embed'>,
  scope: OrgScope,
  {
    connectionId,
    scopes,
    ttlSeconds,
  }: { readonly connectionId: string; readonly scopes: readonly EmbedScope[]; readonly ttlSeconds: number },
): Promise<{ readonly token: string; readonly expiresAt: number }> {
  found(isId('con', connectionId) && (await findConnection(db, scope, connectionId)), 'Connection');
  if (!keys) throw new AppError('internal', 'Embed tokens are not configured on this deployment: set EMBED_KEYS.');
  return signEmbedToken({ keys, issuer }, { orgId: scope.orgId, connectionId, scopes, ttlSeconds });
}
