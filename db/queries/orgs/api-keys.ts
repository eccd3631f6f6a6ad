import { sql } from 'kysely';
import type { NewApiKey } from '../../../src/core/crypto/api-key.ts';
import { newId } from '../../../src/core/ids.ts';
import type { ApiKeyRow } from '../../../src/core/resources/api-key.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

const columns = ['id', 'last4', 'workspaceId', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'] as const;

/** What a new key takes over from the one that creates it. Its workspace and scopes are stored and restrict nothing. */
export interface KeyGrant {
  /** Null: none. */
  readonly workspaceId: string | null;
  readonly scopes: readonly string[];
  /** The time at which the key expires; null: never. */
  readonly expiresAt: string | null;
  /** The key that made this one; null when the operator did. */
  readonly createdByKeyId: string | null;
}

/** Stores a key of the org, by its hash. */
export function insertApiKey(
  db: Db,
  scope: OrgScope,
  { lookupId, hash, last4, scopes, ...grant }: Omit<NewApiKey, 'key'> & KeyGrant,
): Promise<ApiKeyRow> {
  const { orgId } = scope;
  return db
    .insertInto('apiKeys')
    .values({ ...grant, id: newId('key'), orgId, lookupId, last4, keyHash: Buffer.from(hash), scopes: [...scopes] })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

/** Every key of the org, revoked ones too, newest first. */
export function listApiKeys(db: Db, scope: OrgScope): Promise<ApiKeyRow[]> {
  return db.selectFrom('apiKeys').select(columns).where('orgId', '=', scope.orgId).orderBy('id', 'desc').execute();
}

/** The key, refused from now on; one revoked earlier keeps its time. Undefined when absent or of another org. */
export function markApiKeyRevoked(
  db: Db,
  scope: OrgScope,
  id: string,
): Promise<(ApiKeyRow & { readonly createdByKeyId: string | null }) | undefined> {
  return db
    .updateTable('apiKeys')
    .set({ revokedAt: sql`coalesce(revoked_at, now())` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returning([...columns, 'createdByKeyId'])
    .executeTakeFirst();
}
