import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns, sealedOf } from './sealed-columns.ts';

export interface TokenKey {
  readonly connectionId: string;
  /** Empty for the auth of the spec; the resource key for a resource with its own. An import has one beside each. */
  readonly slot: string;
}

/** The right to replace a token. */
export interface LeasedToken {
  readonly leaseNo: number;
  /** `null` if none is stored yet. */
  readonly sealed: SealedSecret | null;
}

interface KeptAlive {
  /** Absent or `null` if only runs use its refresh token. */
  readonly keepAliveSeconds?: number | null;
}

const keepAliveAt = ({ keepAliveSeconds = null }: KeptAlive) =>
  keepAliveSeconds === null ? null : sql<string>`now() + make_interval(secs => ${keepAliveSeconds})`;

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
  token: TokenKey & KeptAlive & { readonly sealed: SealedSecret; readonly replaces: Uint8Array | null },
): Promise<void> {
  await db
    .updateTable('tokens')
    .set({ ...sealedColumns(token.sealed), keepAliveAt: keepAliveAt(token), updatedAt: sql<string>`now()` })
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
  { connectionId, slot, sealed, ...keep }: TokenKey & KeptAlive & { readonly sealed: SealedSecret },
): Promise<void> {
  const columns = { ...sealedColumns(sealed), keepAliveAt: keepAliveAt(keep) };
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

/** Ends its lease, too. */
export async function dropToken(tx: Db, scope: OrgScope, { connectionId, slot }: TokenKey): Promise<void> {
  await tx
    .deleteFrom('tokens')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('slot', '=', slot)
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

interface KeptAliveSlot {
  readonly slot: string;
  readonly seconds: number;
}

/** After a change of the spec: stored tokens of these slots are kept alive from here on, all others are not. */
export async function conformKeepAlive(
  tx: Db,
  { orgId }: OrgScope,
  { connectionId, slots }: { readonly connectionId: string; readonly slots: readonly KeptAliveSlot[] },
): Promise<void> {
  await sql`
    update tokens set keep_alive_at = (
      select updated_at + make_interval(secs => kept.seconds)
      from unnest(${slots.map(({ slot }) => slot)}::text[], ${slots.map(({ seconds }) => seconds)}::int[]) as kept (slot, seconds)
      where kept.slot = tokens.slot and ciphertext is not null)
    where org_id = ${orgId} and connection_id = ${connectionId}`.execute(tx);
}

export interface DueToken extends TokenKey {
  readonly orgId: string;
}

interface KeepAliveRoom {
  readonly limit: number;
  readonly limitOfOrg: number;
  /** Orgs with as many refreshes in progress as allowed. */
  readonly busyOrgs: readonly string[];
}

/** Takes tokens that nothing has used for too long, of the orgs in turn; one that is not refreshed is due again in an hour. */
export async function takeUnusedTokens(
  db: Db,
  { limit, limitOfOrg, busyOrgs }: KeepAliveRoom,
): Promise<readonly DueToken[]> {
  const { rows } = await sql<DueToken>`
    update tokens set keep_alive_at = now() + interval '1 hour'
    where (connection_id, slot) in (
      select connection_id, slot from (
        select connection_id, slot, keep_alive_at,
          row_number() over (partition by org_id order by keep_alive_at) as place
        from tokens where keep_alive_at <= now() and org_id <> all(${busyOrgs}::text[])) due
      where place <= ${limitOfOrg} order by place, keep_alive_at limit ${limit})
      and keep_alive_at <= now()
    returning org_id, connection_id, slot`.execute(db);
  return rows;
}

/** Nothing is to be kept alive until the next token. */
export async function endKeepAlive(db: Db, scope: OrgScope, { connectionId, slot }: TokenKey): Promise<void> {
  await db
    .updateTable('tokens')
    .set({ keepAliveAt: null })
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('slot', '=', slot)
    .execute();
}
