import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns, sealedOf } from './sealed-columns.ts';
import type { TokenKey } from './tokens.ts';

/** A grant that waits until the org has confirmed it. */
export interface PendingGrant extends TokenKey {
  readonly codeFingerprint: string;
  /** Whether it may be of another account than the stored grant. */
  readonly newAccount: boolean;
  /** The token, sealed; null: the grant was confirmed. */
  readonly sealed: SealedSecret | null;
}

/** Keeps a grant for `ttlSeconds` in place of the one of its slot. */
export async function putPendingGrant(
  tx: Db,
  scope: OrgScope,
  grant: PendingGrant & { readonly sealed: SealedSecret; readonly ttlSeconds: number },
): Promise<void> {
  const { connectionId, slot, codeFingerprint, newAccount, sealed, ttlSeconds } = grant;
  const columns = {
    codeFingerprint,
    newAccount,
    ...sealedColumns(sealed),
    expiresAt: sql<string>`now() + make_interval(secs => ${ttlSeconds})`,
  };
  await tx
    .insertInto('pendingGrants')
    .values({ orgId: scope.orgId, connectionId, slot, ...columns })
    .onConflict((conflict) =>
      conflict.columns(['connectionId', 'slot']).doUpdateSet(columns).where('pendingGrants.orgId', '=', scope.orgId),
    )
    .execute();
}

/** The grants of a connection that can be confirmed, and those that were a short time ago. */
export async function findPendingGrants(
  db: Db,
  scope: OrgScope,
  connectionId: string,
): Promise<readonly PendingGrant[]> {
  const rows = await db
    .selectFrom('pendingGrants')
    .select(['connectionId', 'slot', 'codeFingerprint', 'newAccount', 'kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('expiresAt', '>', sql<string>`now()`)
    .execute();
  return rows.map(({ kekId, wrappedKey, nonce, ciphertext, ...grant }) => ({
    ...grant,
    sealed: sealedOf({ kekId, wrappedKey, nonce, ciphertext }),
  }));
}

/** Forgets the token of a grant that is confirmed. False: its time was over meanwhile. */
export async function usePendingGrant(
  tx: Db,
  scope: OrgScope,
  { connectionId, slot, codeFingerprint }: TokenKey & Pick<PendingGrant, 'codeFingerprint'>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('pendingGrants')
    .set({ kekId: null, wrappedKey: null, nonce: null, ciphertext: null })
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('slot', '=', slot)
    .where('codeFingerprint', '=', codeFingerprint)
    .where('ciphertext', 'is not', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Removes the grant of a slot, whose code then confirms nothing. Its token; null: there was none. */
export async function dropPendingGrant(
  tx: Db,
  scope: OrgScope,
  { connectionId, slot }: TokenKey,
): Promise<SealedSecret | null> {
  const row = await tx
    .deleteFrom('pendingGrants')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('slot', '=', slot)
    .returning(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .executeTakeFirst();
  return row ? sealedOf(row) : null;
}

/** A grant that nobody confirmed in time. */
export interface DeadGrant extends TokenKey {
  readonly orgId: string;
  /** The token, sealed; null: the grant was confirmed. */
  readonly sealed: SealedSecret | null;
}

/** Removes grants whose time is over, of every org, and returns them. */
export async function takeDeadGrants(db: Db, rowsMax: number): Promise<readonly DeadGrant[]> {
  const { rows } = await sql<Omit<DeadGrant, 'sealed'> & { [Name in keyof SealedSecret]: SealedSecret[Name] | null }>`
    delete from pending_grants where ctid in (
      select ctid from pending_grants where expires_at < now() limit ${rowsMax} for update skip locked)
    returning org_id, connection_id, slot, kek_id, wrapped_key, nonce, ciphertext`.execute(db);
  return rows.map(({ orgId, connectionId, slot, ...sealed }) => ({
    orgId,
    connectionId,
    slot,
    sealed: sealedOf(sealed),
  }));
}
