import { type SqlBool, sql } from 'kysely';
import type { Db } from '../../client.ts';
import { type Placeholders, statement } from '../../statement.ts';

export interface Credential {
  readonly id: string;
  readonly lookupId: string;
  readonly orgId: string;
  /** Like the scopes, only passed on to keys that this one creates. */
  readonly workspaceId: string | null;
  readonly scopes: readonly string[];
  readonly keyHash: Uint8Array;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** To the minute; `null` if never used. */
  readonly lastUsedAt: string | null;
}

/** Takes no scope, because a scope is made from a key. */
export async function findCredentials(db: Db, lookupIds: readonly string[]): Promise<readonly Credential[]> {
  return await credentialsWith(db, { lookupIds });
}

const credentialsWith = statement((db, { lookupIds }: Placeholders<{ readonly lookupIds: readonly string[] }>) =>
  db
    .selectFrom('apiKeys')
    .select(['id', 'lookupId', 'orgId', 'workspaceId', 'scopes', 'keyHash', 'expiresAt', 'revokedAt', 'lastUsedAt'])
    .where(sql<SqlBool>`lookup_id = any(${lookupIds}::text[])`),
);

/** Writes at most once a minute per key. */
export async function touchCredential(db: Db, keyId: string): Promise<void> {
  await db
    .updateTable('apiKeys')
    .set({ lastUsedAt: sql`now()` })
    .where('id', '=', keyId)
    .where((eb) =>
      eb.or([eb('lastUsedAt', 'is', null), eb('lastUsedAt', '<', sql<string>`now() - interval '1 minute'`)]),
    )
    .execute();
}
