import { sql } from 'kysely';
import type { Db } from '../../client.ts';
import { type Placeholders, statement } from '../../statement.ts';

/** The data of an API key: enough to verify it and to make the scope of the request. */
export interface Credential {
  readonly id: string;
  readonly orgId: string;
  /** Like the scopes, only passed on to the keys that this one creates; null: none. */
  readonly workspaceId: string | null;
  readonly scopes: readonly string[];
  readonly keyHash: Uint8Array;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** The time of its last use, to the minute; null: it was never used. */
  readonly lastUsedAt: string | null;
}

/** The key with that lookup id, or undefined. It takes no scope, because a scope is made from it. */
export async function findCredential(db: Db, lookupId: string): Promise<Credential | undefined> {
  const [credential] = await credentialsWith(db, { lookupId });
  return credential;
}

const credentialsWith = statement((db, { lookupId }: Placeholders<{ readonly lookupId: string }>) =>
  db
    .selectFrom('apiKeys')
    .select(['id', 'orgId', 'workspaceId', 'scopes', 'keyHash', 'expiresAt', 'revokedAt', 'lastUsedAt'])
    .where('lookupId', '=', lookupId),
);

/** Notes that a key was used; writes at most once a minute per key. */
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
