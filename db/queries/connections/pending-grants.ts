import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns, sealedOf } from './sealed-columns.ts';
import type { TokenKey } from './tokens.ts';

export interface PendingGrant extends TokenKey {
  readonly codeFingerprint: string;
  /** Whether it may be of another account than the stored grant. */
  readonly newAccount: boolean;
  /** The connect session with which it ends; `null`: it has a time of its own. */
  readonly sessionId: string | null;
  /** The sealed token; `null` once the grant is confirmed. */
  readonly sealed: SealedSecret | null;
}

/** Keeps a grant for `ttlSeconds`, or as long as its session, in place of the slot's previous one. */
export async function putPendingGrant(
  tx: Db,
  scope: OrgScope,
  grant: PendingGrant & { readonly sealed: SealedSecret; readonly ttlSeconds: number },
): Promise<void> {
  const { connectionId, slot, codeFingerprint, newAccount, sessionId, sealed, ttlSeconds } = grant;
  const columns = {
    codeFingerprint,
    newAccount,
    sessionId,
    ...sealedColumns(sealed),
    expiresAt: sql<string>`coalesce(
      (select expires_at from connect_sessions where org_id = ${scope.orgId} and id = ${sessionId}),
      now() + make_interval(secs => ${ttlSeconds}))`,
  };
  await tx
    .insertInto('pendingGrants')
    .values({ orgId: scope.orgId, connectionId, slot, ...columns })
    .onConflict((conflict) =>
      conflict.columns(['connectionId', 'slot']).doUpdateSet(columns).where('pendingGrants.orgId', '=', scope.orgId),
    )
    .execute();
}

/** Grants of a connection that can be confirmed, and those confirmed a short time ago. */
export async function findPendingGrants(
  db: Db,
  scope: OrgScope,
  connectionId: string,
): Promise<readonly PendingGrant[]> {
  const rows = await db
    .selectFrom('pendingGrants')
    .select(['connectionId', 'slot', 'codeFingerprint', 'newAccount', 'sessionId'])
    .select(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('expiresAt', '>', sql<string>`now()`)
    .execute();
  return rows.map(({ kekId, wrappedKey, nonce, ciphertext, ...grant }) => ({
    ...grant,
    sealed: sealedOf({ kekId, wrappedKey, nonce, ciphertext }),
  }));
}

/** `false` if the time of the grant was over meanwhile. */
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

/** Stores the token that a waiting grant was refreshed to. */
export async function putPendingToken(
  db: Db,
  scope: OrgScope,
  {
    connectionId,
    slot,
    codeFingerprint,
    sealed,
  }: TokenKey & Pick<PendingGrant, 'codeFingerprint'> & { readonly sealed: SealedSecret },
): Promise<void> {
  await db
    .updateTable('pendingGrants')
    .set(sealedColumns(sealed))
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('slot', '=', slot)
    .where('codeFingerprint', '=', codeFingerprint)
    .where('ciphertext', 'is not', null)
    .execute();
}

/** Removes the grant of a slot, whose code then confirms nothing; returns its token, if it is to be revoked. */
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
    .returning(['sessionId', 'kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .executeTakeFirst();
  return row?.sessionId === null ? sealedOf(row) : null;
}

/** Removes what waits for the end of a session. */
export async function dropGrantsOfSession(tx: Db, scope: OrgScope, sessionId: string): Promise<void> {
  await tx
    .deleteFrom('pendingGrants')
    .where('orgId', '=', scope.orgId)
    .where('sessionId', '=', sessionId)
    .where('connectionId', 'in', (eb) =>
      eb
        .selectFrom('connectSessions')
        .select((of) => of.ref('connectionId').$notNull().as('connectionId'))
        .where('orgId', '=', scope.orgId)
        .where('id', '=', sessionId),
    )
    .execute();
}

export interface DeadGrant extends TokenKey {
  readonly orgId: string;
  /** `null` if there is nothing to revoke. */
  readonly sealed: SealedSecret | null;
}

type DeadRow = Omit<DeadGrant, 'sealed'> & Pick<PendingGrant, 'sessionId'>;

export async function takeDeadGrants(db: Db, rowsMax: number): Promise<readonly DeadGrant[]> {
  const { rows } = await sql<DeadRow & { [Name in keyof SealedSecret]: SealedSecret[Name] | null }>`
    delete from pending_grants where ctid in (
      select ctid from pending_grants where expires_at < now() limit ${rowsMax} for update skip locked)
    returning org_id, connection_id, slot, session_id, kek_id, wrapped_key, nonce, ciphertext`.execute(db);
  return rows.map(({ orgId, connectionId, slot, sessionId, ...sealed }) => ({
    orgId,
    connectionId,
    slot,
    sealed: sessionId === null ? sealedOf(sealed) : null,
  }));
}
