import { type SqlBool, sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { ConnectionStatus } from '../../../src/core/resources/connection.ts';
import type { HookRow } from '../../../src/core/resources/hook.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import { newestPage, type Page, type PageRequest } from '../../page.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns, sealedOf } from '../connections/sealed-columns.ts';

const columns = [
  'id',
  'connectionId',
  'resourceKeys',
  'verification',
  'dedupe',
  'debounceSeconds',
  'maxWaitSeconds',
  'enabled',
  'createdAt',
] as const;

/** Parts of a hook that are stored but never shown. */
export interface HookSecrets {
  readonly tokenHash: Buffer;
  /** `null` if the verification needs none. */
  readonly secret: SealedSecret | null;
}

/** The caller has locked the connection in this transaction (`lockConnection`). */
export function insertHook(
  tx: Db,
  scope: OrgScope,
  { tokenHash, secret, ...hook }: Omit<HookRow, 'enabled' | 'createdAt'> & HookSecrets,
): Promise<HookRow> {
  const { verification, dedupe } = hook;
  return tx
    .insertInto('hooks')
    .values({
      ...hook,
      ...(secret === null ? {} : sealedColumns(secret)),
      orgId: scope.orgId,
      tokenHash,
      verification: JSON.stringify(verification),
      dedupe: dedupe === null ? null : JSON.stringify(dedupe),
    })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

/** `undefined` if absent, deleted or of another org. */
export function findHook(db: Db, scope: OrgScope, id: string): Promise<HookRow | undefined> {
  return existing(db, scope).select(columns).where('id', '=', id).executeTakeFirst();
}

export function listHooks(db: Db, scope: OrgScope, connectionId: string): Promise<Listing<HookRow>> {
  return openNewestFirst(existing(db, scope).select(columns).where('connectionId', '=', connectionId));
}

export const findHooksPage = (db: Db, scope: OrgScope, request: PageRequest): Promise<Page<HookRow>> =>
  newestPage(existing(db, scope).select(columns), request);

export function setHookEnabled(
  db: Db,
  scope: OrgScope,
  { id, enabled }: Pick<HookRow, 'id' | 'enabled'>,
): Promise<HookRow | undefined> {
  return updateExisting(db, scope).set({ enabled }).where('id', '=', id).returning(columns).executeTakeFirst();
}

/** Replaces only the given secrets, from the commit on. */
export function replaceHookSecrets(
  db: Db,
  scope: OrgScope,
  { id, tokenHash, secret }: Partial<HookSecrets> & Pick<HookRow, 'id'>,
): Promise<HookRow | undefined> {
  return updateExisting(db, scope)
    .set((eb) => ({ tokenHash: tokenHash ?? eb.ref('tokenHash'), ...(secret ? sealedColumns(secret) : {}) }))
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
}

const deleted = { deletedAt: sql<string>`now()`, kekId: null, wrappedKey: null, nonce: null, ciphertext: null };

/** Marks a hook as deleted, so that it reads as absent; its secret is removed at once. */
export async function markHookDeleted(db: Db, scope: OrgScope, id: string): Promise<boolean> {
  const marked = await updateExisting(db, scope).set(deleted).where('id', '=', id).returning('id').executeTakeFirst();
  return marked !== undefined;
}

export async function markHooksDeleted(tx: Db, scope: OrgScope, connectionId: string): Promise<void> {
  await updateExisting(tx, scope).set(deleted).where('connectionId', '=', connectionId).execute();
}

const existing = (db: Db, { orgId }: OrgScope) =>
  db.selectFrom('hooks').where('orgId', '=', orgId).where('deletedAt', 'is', null);
const updateExisting = (db: Db, { orgId }: OrgScope) =>
  db.updateTable('hooks').where('orgId', '=', orgId).where('deletedAt', 'is', null);

export interface ReceivingHook
  extends Pick<HookRow, 'id' | 'connectionId' | 'resourceKeys' | 'verification' | 'dedupe'> {
  readonly tokenHash: Buffer;
  readonly orgId: string;
  readonly connectionStatus: ConnectionStatus;
  readonly secret: SealedSecret | null;
}

/** Takes no scope: like a credential, a hook is what a scope is made from. */
export async function findHooksByToken(db: Db, tokenHashes: readonly Buffer[]): Promise<readonly ReceivingHook[]> {
  const rows = await db
    .selectFrom('hooks')
    .innerJoin('connections', 'connections.id', 'hooks.connectionId')
    .select([
      'hooks.id',
      'hooks.tokenHash',
      'hooks.orgId',
      'hooks.connectionId',
      'hooks.resourceKeys',
      'hooks.verification',
      'hooks.dedupe',
      'hooks.kekId',
      'hooks.wrappedKey',
      'hooks.nonce',
      'hooks.ciphertext',
      'connections.status as connectionStatus',
    ])
    .where(sql<SqlBool>`hooks.token_hash = any(${tokenHashes}::bytea[])`)
    .where(sql<SqlBool>`hooks.enabled`)
    .where('hooks.deletedAt', 'is', null)
    .where('connections.deletedAt', 'is', null)
    .execute();
  return rows.map(({ kekId, wrappedKey, nonce, ciphertext, ...hook }) => ({
    ...hook,
    secret: sealedOf({ kekId, wrappedKey, nonce, ciphertext }),
  }));
}
