import type { Db } from '../../../db/client.ts';
import { insertApiKey, type KeyGrant, revokeApiKey } from '../../../db/queries/orgs/api-keys.ts';
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
export interface IssuedApiKey {
  readonly id: string;
  /** Shown once; only its hash is stored. */
  readonly key: string;
}

/** A key of the org. What it has is decided by the caller of this function, not by a body. */
export async function issueApiKey(deps: WakeDeps & WriteDeps, scope: OrgScope, grant: KeyGrant): Promise<IssuedApiKey> {
  const issued = await write(deps, (tx) => issueWithin(tx, scope, grant));
  void wakeEndpoints(deps, scope);
  return issued;
}

/**
 * Issues a key as part of a transaction; its endpoints are to be woken after the commit, or by the sweeper. See {@link
 * issueApiKey}.
 */
export async function issueWithin(tx: Db, scope: OrgScope, grant: KeyGrant): Promise<IssuedApiKey> {
  await requireRoom(tx, scope, 'apiKeys');
  const { key, ...stored } = makeApiKey();
  const { id, workspaceId } = await insertApiKey(tx, scope, { ...stored, ...grant });
  await recordEvent(tx, scope, apiKeyCreated({ apiKeyId: id, createdBy: grant.createdByKeyId, workspaceId }));
  return { id, key };
}

/** Refuses the key from the next request on; a key revoked earlier is returned unchanged. Throws not_found. */
export async function withdrawApiKey(deps: WakeDeps, scope: OrgScope, id: string): Promise<ApiKeyRow> {
  const revoked = await deps.db.transaction().execute((tx) => withdrawWithin(tx, scope, id));
  void wakeEndpoints(deps, scope);
  return revoked;
}

/** Withdraws a key as part of a transaction; see {@link withdrawApiKey} and {@link issueWithin}. */
export async function withdrawWithin(tx: Db, scope: OrgScope, id: string): Promise<ApiKeyRow> {
  const revoked = found(await revokeApiKey(tx, scope, id), 'API key');
  const { createdByKeyId: createdBy, ...row } = revoked;
  await recordEvent(tx, scope, apiKeyRevoked({ apiKeyId: id, createdBy, workspaceId: row.workspaceId }));
  return row;
}
