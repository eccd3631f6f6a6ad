import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns, sealedOf } from './sealed-columns.ts';

export interface TokenKey {
  readonly connectionId: string;
  /** Empty for the auth of the spec; the resource key for a resource with its own. */
  readonly slot: string;
}

/** The right to replace a token. */
export interface LeasedToken {
  readonly leaseNo: number;
  /** `null` if none is stored yet. */
  readonly sealed: SealedSecret | null;
}

export async function findToken(
  db: Db,
  scope: OrgScope,
  { connectionId, slot }: TokenKey,
): Promise<SealedSecret | null> {
  const row = await db
    .selectFrom('tokens')
    .select(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('slot', '=', slot)
    .executeTakeFirst();
  return row ? sealedOf(row) : null;
}

/** Takes the lease for `leaseSeconds` in one statement; `null` while another process holds it. */
export async function leaseToken(
  db: Db,
  scope: OrgScope,
  { connectionId, slot, leaseSeconds }: TokenKey & { readonly leaseSeconds: number },
): Promise<LeasedToken | null> {
  const leaseUntil = sql<string>`clock_timestamp() + make_interval(secs => ${leaseSeconds})`;
  const row = await db
    .insertInto('tokens')
    .values({ orgId: scope.orgId, connectionId, slot, leaseNo: 1, leaseUntil })
    .onConflict((conflict) =>
      conflict
        .columns(['connectionId', 'slot'])
        .doUpdateSet({ leaseNo: sql<number>`tokens.lease_no + 1`, leaseUntil })
        .where('tokens.orgId', '=', scope.orgId)
        .where((eb) =>
          eb.or([eb('tokens.leaseUntil', 'is', null), eb('tokens.leaseUntil', '<', sql<string>`clock_timestamp()`)]),
        ),
    )
    .returning(['leaseNo', 'kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .executeTakeFirst();
  return row ? { leaseNo: row.leaseNo, sealed: sealedOf(row) } : null;
}

/** Replaces the token whose nonce is `replaces` (`null` for none), but not one that was stored meanwhile. */
export async function putToken(
  db: Db,
  scope: OrgScope,
  token: TokenKey & { readonly sealed: SealedSecret; readonly replaces: Uint8Array | null },
): Promise<void> {
  await db
    .updateTable('tokens')
    .set({ ...sealedColumns(token.sealed), updatedAt: sql<string>`now()` })
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', token.connectionId)
    .where('slot', '=', token.slot)
    .where('nonce', 'is not distinct from', token.replaces === null ? null : Buffer.from(token.replaces))
    .execute();
}

/** Replaces any token, so that one obtained meanwhile with the previous one is not kept. */
export async function replaceToken(
  db: Db,
  scope: OrgScope,
  { connectionId, slot, sealed }: TokenKey & { readonly sealed: SealedSecret },
): Promise<void> {
  const columns = sealedColumns(sealed);
  await db
    .insertInto('tokens')
    .values({ orgId: scope.orgId, connectionId, slot, ...columns })
    .onConflict((conflict) =>
      conflict
        .columns(['connectionId', 'slot'])
        .doUpdateSet({ ...columns, updatedAt: sql<string>`now()` })
        .where('tokens.orgId', '=', scope.orgId),
    )
    .execute();
}

/** Releases a lease, unless another process holds it by now. */
export async function releaseToken(
  db: Db,
  scope: OrgScope,
  { connectionId, slot, leaseNo }: TokenKey & { readonly leaseNo: number },
): Promise<void> {
  await db
    .updateTable('tokens')
    .set({ leaseUntil: null })
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('slot', '=', slot)
    .where('leaseNo', '=', leaseNo)
    .execute();
}
