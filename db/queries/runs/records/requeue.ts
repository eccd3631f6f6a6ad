import { sql } from 'kysely';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { Requeued } from '../../../../src/core/run/run-store.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

/** Marks the record for another try, unless it was too large to be kept. */
export async function requeueOne(db: Db, scope: OrgScope, id: string): Promise<boolean> {
  const requeued = await unresolved(db, scope).where('id', '=', id).returning('id').executeTakeFirst();
  return requeued !== undefined;
}

export async function requeueAll(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey }: { readonly connectionId: string; readonly resourceKey: string | null },
): Promise<number> {
  const all = unresolved(db, scope).where('connectionId', '=', connectionId);
  const update = resourceKey === null ? all : all.where('resourceKey', '=', resourceKey);
  return Number((await update.executeTakeFirst()).numUpdatedRows);
}

const unresolved = (db: Db, scope: OrgScope) =>
  db
    .updateTable('quarantine')
    .set({
      resolvedAt: sql<string>`now()`,
      // Only the beginning of a record that was too large was kept.
      requeuedAt: sql<string>`case when validation_errors @> '[{"keyword": "too_large"}]' then null else now() end`,
    })
    .where('orgId', '=', scope.orgId)
    .where('resolvedAt', 'is', null);

interface RequeuedPage extends LaneKey {
  readonly after: string | null;
  readonly limit: number;
}

export interface RequeuedRow extends Omit<Requeued, 'lostId'> {
  readonly externalId: string;
  /** See `QuarantineEntry.sealed`. */
  readonly sealed: string | null;
}

export async function findRequeued(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey, after, limit }: RequeuedPage,
): Promise<RequeuedRow[]> {
  const query = db
    .selectFrom('quarantine')
    .select(['id', 'externalId', 'version', 'rawJson as record', 'eachJson as each', 'sealedJson as sealed'])
    .select(
      sql<boolean>`not exists (
        select from quarantine newer
        where newer.connection_id = quarantine.connection_id and newer.resource_key = quarantine.resource_key
          and newer.external_id = quarantine.external_id and newer.id > quarantine.id
          and (newer.resolved_at is null or newer.requeued_at is not null))`.as('isLast'),
    )
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('resourceKey', '=', resourceKey)
    .where('requeuedAt', 'is not', null)
    .orderBy('id')
    .limit(limit);
  return (after === null ? query : query.where('id', '>', after)).execute();
}

/** The run delivers records from before its watermark, so a rewind begins further back. */
export async function noteReadsBefore(db: Db, scope: OrgScope, runId: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ readsBefore: true })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .execute();
}

/** Closes the rows of records that a run has retried, no matter what the result was. */
export async function markRetried(
  tx: Db,
  scope: OrgScope,
  { connectionId, resourceKey, runId, ids }: LaneKey & { readonly runId: string; readonly ids: readonly string[] },
): Promise<void> {
  if (ids.length === 0) return;
  await noteReadsBefore(tx, scope, runId);
  await tx
    .updateTable('quarantine')
    .set({ requeuedAt: null, resolvedAt: sql<string>`coalesce(resolved_at, now())` })
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('resourceKey', '=', resourceKey)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
}

/** Closes the rows of a lane, also those to be retried: their records are of another account. */
export async function closeAll(tx: Db, scope: OrgScope, laneId: number): Promise<void> {
  await sql`
    update quarantine set requeued_at = null, resolved_at = coalesce(resolved_at, now())
    from lanes
    where lanes.org_id = ${scope.orgId} and lanes.id = ${laneId} and quarantine.org_id = lanes.org_id
      and quarantine.connection_id = lanes.connection_id and quarantine.resource_key = lanes.resource_key
      and (resolved_at is null or requeued_at is not null)`.execute(tx);
}
