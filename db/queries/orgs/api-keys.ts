import { sql } from 'kysely';
import type { NewApiKey } from '../../../src/core/crypto/api-key.ts';
import { newId } from '../../../src/core/ids.ts';
import type { ApiKeyRow } from '../../../src/core/resources/api-key.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import { newestPage, type Page, type PageRequest } from '../../page.ts';
import type { OrgScope } from '../../scope.ts';

const columns = [
  ...(['id', 'last4', 'workspaceId', 'createdByKeyId as createdBy'] as const),
  ...(['createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'] as const),
] as const;

/** Inherited from the creating key; its workspace and scopes are stored but restrict nothing. */
export interface KeyGrant {
  readonly workspaceId: string | null;
  readonly scopes: readonly string[];
  readonly expiresAt: string | null;
  /** `null` if the operator made the key. */
  readonly createdByKeyId: string | null;
}

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

export const listApiKeys = (db: Db, scope: OrgScope): Promise<Listing<ApiKeyRow>> => openNewestFirst(keysOf(db, scope));

export interface ApiKeyLine extends ApiKeyRow {
  /** `null` if the operator made the key, or its creator is not kept. */
  readonly creatorLast4: string | null;
}

export function findApiKeysPage(db: Db, scope: OrgScope, request: PageRequest): Promise<Page<ApiKeyLine>> {
  const creatorLast4 = sql<string | null>`(
    select last4 from api_keys creator
    where creator.org_id = api_keys.org_id and creator.id = api_keys.created_by_key_id)`;
  return newestPage(keysOf(db, scope).select(creatorLast4.as('creatorLast4')), request);
}

/** The given keys with a descendant that is not revoked. */
export async function findKeysWithLiveDescendants(
  db: Db,
  { orgId }: OrgScope,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  // Walks up from the keys that are not revoked, since an org has few of them.
  const { rows } = await sql<{ id: string }>`
    with recursive above as (
      select created_by_key_id as id from api_keys where org_id = ${orgId} and revoked_at is null
      union
      select created_by_key_id from api_keys join above using (id) where org_id = ${orgId})
    select id from above where id = any(${[...ids]}::text[])`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

const keysOf = (db: Db, { orgId }: OrgScope) => db.selectFrom('apiKeys').select(columns).where('orgId', '=', orgId);

/** A key revoked earlier keeps its time. */
export function markApiKeyRevoked(db: Db, scope: OrgScope, id: string): Promise<ApiKeyRow | undefined> {
  return db
    .updateTable('apiKeys')
    .set({ revokedAt: sql`coalesce(revoked_at, now())` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
}

export function markApiKeysRevoked(db: Db, scope: OrgScope, ids: readonly string[]): Promise<ApiKeyRow[]> {
  return db
    .updateTable('apiKeys')
    .set({ revokedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', sql<string>`any(${[...ids]}::text[])`)
    .where('revokedAt', 'is', null)
    .returning(columns)
    .execute();
}

export async function findDescendantKeys(db: Db, { orgId }: OrgScope, id: string): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    with recursive made as (
      select id, revoked_at from api_keys where org_id = ${orgId} and created_by_key_id = ${id}
      union
      select api_keys.id, api_keys.revoked_at
      from api_keys join made on made.id = created_by_key_id where org_id = ${orgId})
    select id from made where revoked_at is null`.execute(db);
  return rows.map((row) => row.id);
}

export async function isLiveKey(db: Db, { orgId }: OrgScope, id: string): Promise<boolean> {
  const live = await db
    .selectFrom('apiKeys')
    .select('id')
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .where('revokedAt', 'is', null)
    .where((eb) => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', sql<string>`clock_timestamp()`)]))
    .executeTakeFirst();
  return live !== undefined;
}
