import { sql } from 'kysely';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { isCancelRequested } from './cancel.ts';

export interface LookupCache {
  readonly connectionId: string;
  /** `null` if the runs of the connection share the value. */
  readonly runId: string | null;
}

export interface LookupValue {
  readonly key: string;
  /** JSON text; `null` if known to be missing. */
  readonly value: string | null;
  readonly ttlSeconds: number;
}

/** In any order, without expired values. */
export function findLookupValues(
  db: Db,
  scope: OrgScope,
  { connectionId, runId, keys }: LookupCache & { readonly keys: readonly string[] },
): Promise<Pick<LookupValue, 'key' | 'value'>[]> {
  return db
    .selectFrom('lookupCache')
    .select(['key', 'value'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('runId', '=', runId ?? '')
    .where('key', '=', sql<string>`any(${keys}::text[])`)
    .where('expiresAt', '>', sql<string>`now()`)
    .execute();
}

interface NewLookupValues extends LookupCache {
  readonly loadedBy: string;
  readonly values: readonly LookupValue[];
}

/**
 * Keeps values unless the run that loaded them is to stop: the connection may be another account's by now. A change of the
 * account locks the connection, requests the stop and then drops the kept values.
 */
export async function putSharedValues(db: Db, scope: OrgScope, shared: NewLookupValues): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .selectFrom('connections')
      .select('id')
      .where('orgId', '=', scope.orgId)
      .where('id', '=', shared.connectionId)
      .forShare()
      .execute();
    if (!(await isCancelRequested(tx, scope, shared.loadedBy))) await putLookupValues(tx, scope, shared);
  });
}

/** In key order, so that two runs never deadlock. */
export async function putLookupValues(
  db: Db,
  scope: OrgScope,
  { connectionId, runId, values }: LookupCache & { readonly values: readonly LookupValue[] },
): Promise<void> {
  const rows = values.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  await sql`
    insert into lookup_cache (org_id, connection_id, run_id, key, value, expires_at)
    select ${scope.orgId}, ${connectionId}, ${runId ?? ''}, v.key, v.value, now() + make_interval(secs => v.ttl)
    from unnest(${rows.map((row) => row.key)}::text[], ${rows.map((row) => row.value)}::text[],
      ${rows.map((row) => row.ttlSeconds)}::integer[]) as v (key, value, ttl)
    on conflict (connection_id, run_id, key)
    do update set value = excluded.value, expires_at = excluded.expires_at
    where lookup_cache.org_id = excluded.org_id`.execute(db);
}

export async function dropLookupValues(
  db: Db,
  scope: OrgScope,
  { connectionId, runId }: { readonly connectionId: string; readonly runId: string },
): Promise<void> {
  await db
    .deleteFrom('lookupCache')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('runId', '=', runId)
    .execute();
}

export async function dropConnectionLookups(db: Db, scope: OrgScope, connectionId: string): Promise<void> {
  await db
    .deleteFrom('lookupCache')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('runId', '=', '')
    .execute();
}

export async function purgeLookupValues(db: Db, rowsMax: number): Promise<void> {
  await sql`
    delete from lookup_cache where ctid = any(array(
      select ctid from lookup_cache where expires_at < now() order by expires_at limit ${rowsMax} for update skip locked))`.execute(
    db,
  );
}
