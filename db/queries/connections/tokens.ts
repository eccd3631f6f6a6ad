import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns, sealedOf } from './sealed-columns.ts';

/** The key of a token of a connection. */
export interface TokenKey {
  readonly connectionId: string;
  /** Empty for the auth of the spec, the key of the resource for one of its own. */
  readonly slot: string;
}

/** The right to replace a token. */
export interface LeasedToken {
  readonly leaseNo: number;
  /** The stored token; null: none yet. */
  readonly sealed: SealedSecret | null;
}

/** The sealed token; null: there is none yet. */
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

/** Takes the lease for `leaseSeconds`, in one statement; null: another process holds it. */
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

/**
 * Stores a token in place of the one whose nonce is `replaces` (null: of none). Another one that was stored meanwhile
 * stays.
 */
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

/** Stores a token in place of any other: a token that a process obtains meanwhile with the previous one is not kept. */
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

/** Gives a lease back, unless another process has it by now. */
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
