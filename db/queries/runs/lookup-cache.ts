import { sql } from 'kysely';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { isCancelRequested } from './cancel.ts';

/** The owner of the values: one run, or all runs of the connection. */
export interface LookupCache {
  readonly connectionId: string;
  /** The run whose value it is; null: the runs of the connection share it. */
  readonly runId: string | null;
}

/** A value to keep. */
export interface LookupValue {
  readonly key: string;
  /** JSON text; null: known to be missing. */
  readonly value: string | null;
  readonly ttlSeconds: number;
}

/** The values under the given keys that have not expired, in no order. */
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

/** Values, and the run that has loaded them. */
interface NewLookupValues extends LookupCache {
  readonly loadedBy: string;
  readonly values: readonly LookupValue[];
}

/**
 * Keeps values for all runs of a connection, unless the run that has loaded them is to stop: the connection may be another
 * account's by now. Whoever makes it so locks the connection, requests the stop and then drops what is kept.
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

/** Keeps values in place of those under the same keys; in the order of the keys, so that two runs never lock crosswise. */
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

/** Forgets what was kept for one run alone. */
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

/** Forgets what the runs of a connection share. */
export async function dropConnectionLookups(db: Db, scope: OrgScope, connectionId: string): Promise<void> {
  await db
    .deleteFrom('lookupCache')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('runId', '=', '')
    .execute();
}

/** Forgets up to `rowsMax` values that have expired; across orgs. */
export async function purgeLookupValues(db: Db, rowsMax: number): Promise<void> {
  await sql`
    delete from lookup_cache where ctid = any(array(
      select ctid from lookup_cache where expires_at < now() order by expires_at limit ${rowsMax} for update skip locked))`.execute(
    db,
  );
}
