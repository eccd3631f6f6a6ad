import type { Db } from '../../../db/client.ts';
import { insertApiKey, type KeyGrant, markApiKeyRevoked } from '../../../db/queries/orgs/api-keys.ts';
import { recordEvent } from '../../../db/queries/webhooks/events.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { makeApiKey } from '../../core/crypto/api-key.ts';
import { found } from '../../core/errors.ts';
import { apiKeyCreated, apiKeyRevoked } from '../../core/events/org-events.ts';
import type { ApiKeyRow } from '../../core/resources/api-key.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { requireRoom } from './org-limits.ts';
import { type WriteDeps, write } from './write.ts';

/** A new key, at the only time when its text is known. */
export interface CreatedApiKey {
  readonly id: string;
  /** Shown once; only its hash is stored. */
  readonly key: string;
}

/** A key of the org. What it has is decided by the caller of this function, not by a body. */
export async function createApiKey(
  deps: WakeDeps & WriteDeps,
  scope: OrgScope,
  grant: KeyGrant,
): Promise<CreatedApiKey> {
  const created = await write(deps, (tx) => createApiKeyWithin(tx, scope, grant));
  void wakeEndpoints(deps, scope);
  return created;
}

/**
 * Creates a key as part of a transaction; its endpoints are to be woken after the commit, or by the sweeper. See {@link
 * createApiKey}.
 */
export async function createApiKeyWithin(tx: Db, scope: OrgScope, grant: KeyGrant): Promise<CreatedApiKey> {
  await requireRoom(tx, scope, 'apiKeys');
  const { key, ...stored } = makeApiKey();
  const { id, workspaceId } = await insertApiKey(tx, scope, { ...stored, ...grant });
  await recordEvent(tx, scope, apiKeyCreated({ apiKeyId: id, createdBy: grant.createdByKeyId, workspaceId }));
  return { id, key };
}

/** Refuses the key from the next request on; a key revoked earlier is returned unchanged. Throws not_found. */
export async function revokeApiKey(deps: WakeDeps, scope: OrgScope, id: string): Promise<ApiKeyRow> {
  const revoked = await deps.db.transaction().execute((tx) => revokeApiKeyWithin(tx, scope, id));
  void wakeEndpoints(deps, scope);
  return revoked;
}

/** Revokes a key as part of a transaction; see {@link revokeApiKey} and {@link createApiKeyWithin}. */
export async function revokeApiKeyWithin(tx: Db, scope: OrgScope, id: string): Promise<ApiKeyRow> {
  const revoked = found(await markApiKeyRevoked(tx, scope, id), 'API key');
  const { createdByKeyId: createdBy, ...row } = revoked;
  await recordEvent(tx, scope, apiKeyRevoked({ apiKeyId: id, createdBy, workspaceId: row.workspaceId }));
  return row;
}
