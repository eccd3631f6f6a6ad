import type { Db } from '../../../db/client.ts';
import {
  findDescendantKeys,
  insertApiKey,
  isLiveKey,
  type KeyGrant,
  markApiKeyRevoked,
  markApiKeysRevoked,
} from '../../../db/queries/orgs/api-keys.ts';
import { lockOrg } from '../../../db/queries/orgs/org-limits.ts';
import { recordEvent } from '../../../db/queries/webhooks/events.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { makeApiKey } from '../../core/crypto/api-key.ts';
import { AppError, found, invalid, schemaIssue } from '../../core/errors.ts';
import { apiKeyCreated, apiKeyRevoked } from '../../core/events/org-events.ts';
import type { ApiKeyRow } from '../../core/resources/api-key.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { requireRoom } from './org-limits.ts';
import { type WriteDeps, write } from './write.ts';

export interface CreatedApiKey {
  readonly id: string;
  /** Shown once; only its hash is stored. */
  readonly key: string;
}

/**
 * Rights come from the caller of this function; a body may only shorten the life of the key below that of its creator. Throws
 * validation (expiresAt), unauthorized (the creating key has been revoked meanwhile), conflict.
 */
export async function createApiKey(
  deps: WakeDeps & WriteDeps,
  scope: OrgScope,
  grant: KeyGrant,
  expiresAt: string | null = null,
): Promise<CreatedApiKey> {
  const limited = expiresAt === null ? grant : { ...grant, expiresAt: checkedExpiry(expiresAt, grant) };
  const created = await write(deps, (tx) => createApiKeyWithin(tx, scope, limited));
  void wakeEndpoints(deps, scope);
  return created;
}

/** Throws validation when the expiry has passed, or exceeds that of the creating key. */
function checkedExpiry(expiresAt: string, grant: KeyGrant): string {
  const refused = (message: string) => invalid('The expiry is not valid.', [schemaIssue('expiresAt', message)]);
  if (Date.parse(expiresAt) <= Date.now()) throw refused('is not in the future');
  if (grant.expiresAt !== null && Date.parse(expiresAt) > Date.parse(grant.expiresAt)) {
    throw refused(`is after ${grant.expiresAt}, when the key that creates this one expires`);
  }
  return expiresAt;
}

/** Wake the org's endpoints after the commit, or leave that to the sweeper; see {@link createApiKey}. */
export async function createApiKeyWithin(tx: Db, scope: OrgScope, grant: KeyGrant): Promise<CreatedApiKey> {
  await requireRoom(tx, scope, 'apiKeys');
  // The org is locked: a revocation has either found the new key or is found here.
  const { createdByKeyId: createdBy } = grant;
  if (createdBy !== null && !(await isLiveKey(tx, scope, createdBy))) throw creatorIsOver();
  const { key, ...stored } = makeApiKey();
  const { id, workspaceId } = await insertApiKey(tx, scope, { ...stored, ...grant });
  await recordEvent(tx, scope, apiKeyCreated({ apiKeyId: id, createdBy, workspaceId }));
  return { id, key };
}

const creatorIsOver = () =>
  new AppError('unauthorized', 'The API key was revoked or has expired meanwhile: use another one.');

export interface Revocation {
  readonly id: string;
  /** Includes keys that it has made, keys that they have made, and so on. */
  readonly withDescendants: boolean;
}

/** Takes effect with the next request; a key revoked earlier is returned unchanged. Throws not_found. */
export async function revokeApiKey(deps: WakeDeps, scope: OrgScope, revocation: Revocation): Promise<ApiKeyRow> {
  const { key } = await deps.db.transaction().execute((tx) => revokeApiKeyWithin(tx, scope, revocation));
  void wakeEndpoints(deps, scope);
  return key;
}

/**
 * See {@link revokeApiKey} and {@link createApiKeyWithin}.
 *
 * @returns the key, and those of its descendants that were not revoked before.
 */
export async function revokeApiKeyWithin(
  tx: Db,
  scope: OrgScope,
  { id, withDescendants }: Revocation,
): Promise<{ readonly key: ApiKeyRow; readonly descendants: readonly ApiKeyRow[] }> {
  await lockOrg(tx, scope);
  const ids = withDescendants ? await findDescendantKeys(tx, scope, id) : [];
  const key = found(await markApiKeyRevoked(tx, scope, id), 'API key');
  const descendants = ids.length === 0 ? [] : await markApiKeysRevoked(tx, scope, ids);
  for (const { id: apiKeyId, createdBy, workspaceId } of [key, ...descendants]) {
    await recordEvent(tx, scope, apiKeyRevoked({ apiKeyId, createdBy, workspaceId }));
  }
  return { key, descendants };
}
