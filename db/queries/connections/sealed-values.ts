/** Every table that holds sealed values, for the rotation of the keys that wrap them. */
import { type RawBuilder, sql } from 'kysely';
import type { SealedSecret, SecretContext } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

interface SealedTable {
  /** Column that the value is bound to when it is sealed. */
  readonly owner: 'connectionId' | 'id';
  /** Rest of the row's key; `null` if the owner is the key. */
  readonly part: 'kind' | 'slot' | 'stateHash' | null;
  /** Kind of secret, or the column that holds it. */
  readonly kind: SecretContext['kind'] | { readonly column: 'kind' };
}

const sealedTables = {
  connectionSecrets: { owner: 'connectionId', part: 'kind', kind: { column: 'kind' } },
  tokens: { owner: 'connectionId', part: 'slot', kind: 'oauth-token' },
  oauthStates: { owner: 'connectionId', part: 'stateHash', kind: 'oauth-verifier' },
  pendingGrants: { owner: 'connectionId', part: 'slot', kind: 'pending-grant' },
  oauthApps: { owner: 'id', part: null, kind: 'oauth-app' },
  webhookEndpointSecrets: { owner: 'id', part: null, kind: 'webhook-secret' },
  hooks: { owner: 'id', part: null, kind: 'upstream-webhook' },
  connectSessions: { owner: 'id', part: null, kind: 'connect-session' },
} as const satisfies Readonly<Record<string, SealedTable>>;

export type SealedTableName = keyof typeof sealedTables;
export const sealedTableNames = Object.keys(sealedTables) as readonly SealedTableName[];

export interface SealedRowKey {
  readonly orgId: string;
  readonly owner: string;
  readonly part: string | Buffer | null;
}

export interface SealedRow extends SealedRowKey {
  readonly sealed: SealedSecret;
  readonly context: SecretContext;
}

const keyOf = (name: SealedTableName): RawBuilder<unknown> => {
  const { owner, part } = sealedTables[name];
  return part === null ? sql`${sql.ref(owner)}` : sql`${sql.ref(owner)}, ${sql.ref(part)}`;
};

export async function countSealed(db: Db): Promise<readonly SealedCount[]> {
  const counts = sealedTableNames.map(async (table) => {
    const { rows } = await sql<Omit<SealedCount, 'table'>>`
      select kek_id, count(*)::int as count from ${sql.table(table)}
      where kek_id is not null group by kek_id order by kek_id`.execute(db);
    return rows.map((row) => ({ table, ...row }));
  });
  return (await Promise.all(counts)).flat();
}

export interface SealedCount {
  readonly table: SealedTableName;
  readonly kekId: string;
  readonly count: number;
}

interface RewrapPage {
  readonly kekId: string;
  readonly after: SealedRowKey | null;
  readonly limit: number;
}

/** Rows whose value is wrapped by another key than `kekId`, in key order. */
export async function findOtherwiseWrapped(
  db: Db,
  table: SealedTableName,
  { kekId, after, limit }: RewrapPage,
): Promise<readonly SealedRowKey[]> {
  const { owner, part } = sealedTables[table];
  const behind = after === null ? sql`true` : sql`(${keyOf(table)}) > (${keyValues(after)})`;
  const { rows } = await sql<SealedRowKey>`
    select org_id, ${sql.ref(owner)} as owner, ${part === null ? sql`null` : sql.ref(part)} as part
    from ${sql.table(table)}
    where kek_id <> ${kekId} and ${behind}
    order by ${keyOf(table)} limit ${limit}`.execute(db);
  return rows;
}

/**
 * Locks the row until the transaction ends; `undefined` if it does not exist, `kekId` wraps it by now, or it is locked elsewhere.
 */
export async function lockOtherwiseWrapped(
  tx: Db,
  { orgId }: OrgScope,
  { table, row, kekId }: { readonly table: SealedTableName; readonly row: SealedRowKey; readonly kekId: string },
): Promise<SealedRow | undefined> {
  const { kind } = sealedTables[table];
  const kindOf = typeof kind === 'string' ? sql`${kind}::text` : sql.ref(kind.column);
  const { rows } = await sql<SealedSecret & { readonly contextKind: SecretContext['kind'] }>`
    select kek_id, wrapped_key, nonce, ciphertext, ${kindOf} as context_kind
    from ${sql.table(table)}
    where org_id = ${orgId} and (${keyOf(table)}) = (${keyValues(row)}) and kek_id <> ${kekId}
    for no key update skip locked`.execute(tx);
  if (!rows[0]) return undefined;
  const { contextKind, ...sealed } = rows[0];
  return { ...row, sealed, context: { orgId, ownerId: row.owner, kind: contextKind } };
}

/** Stores the data key as `sealed` wraps it, unless the row no longer holds that of `replaces`. */
export async function putWrappedKey(
  tx: Db,
  { orgId }: OrgScope,
  { table, row, sealed, replaces }: WrappedKey,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update ${sql.table(table)} set kek_id = ${sealed.kekId}, wrapped_key = ${Buffer.from(sealed.wrappedKey)}
    where org_id = ${orgId} and (${keyOf(table)}) = (${keyValues(row)})
      and wrapped_key = ${Buffer.from(replaces.wrappedKey)}`.execute(tx);
  return numAffectedRows === 1n;
}

interface WrappedKey {
  readonly table: SealedTableName;
  readonly row: SealedRowKey;
  readonly sealed: SealedSecret;
  readonly replaces: SealedSecret;
}

const keyValues = ({ owner, part }: SealedRowKey): RawBuilder<unknown> =>
  part === null ? sql`${owner}` : sql`${owner}, ${part}`;
