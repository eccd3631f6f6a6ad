import { sql } from 'kysely';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { Receipt } from '../../../../src/core/model/receipt.ts';
import type { Requeued } from '../../../../src/core/run/run-store.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';

/**
 * Resolves a quarantined record and marks it for another try, unless it was too large to be kept. False: it is resolved already, absent, or of another org.
 */
export async function requeueOne(db: Db, scope: OrgScope, id: string): Promise<boolean> {
  const requeued = await unresolved(db, scope).where('id', '=', id).returning('id').executeTakeFirst();
  return requeued !== undefined;
}

/**
 * Requeues every unresolved record of a connection, or of one of its resources, as {@link requeueOne} does; returns how
 * many.
 */
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
      // Of one that was too large only the beginning was kept.
      requeuedAt: sql<string>`case when validation_errors @> '[{"keyword": "too_large"}]' then null else now() end`,
    })
    .where('orgId', '=', scope.orgId)
    .where('resolvedAt', 'is', null);

interface RequeuedPage extends LaneKey {
  /** Id of the last row that was taken; null: none yet. */
  readonly after: string | null;
  readonly limit: number;
}

/** Records that wait for another try, oldest first. */
export async function findRequeued(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey, after, limit }: RequeuedPage,
): Promise<Requeued[]> {
  const query = db
    .selectFrom('quarantine')
    .select(['id', 'rawJson as record', 'eachJson as each'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('resourceKey', '=', resourceKey)
    .where('requeuedAt', 'is not', null)
    .orderBy('id')
    .limit(limit);
  return (after === null ? query : query.where('id', '>', after)).execute();
}

/**
 * Notes that records were retried, whatever the result, and closes their rows but for those that the same receipt keeps
 * open. Called after those were kept.
 */
export async function markRetried(
  tx: Db,
  scope: OrgScope,
  { retried, quarantine }: Pick<Receipt, 'retried' | 'quarantine'>,
): Promise<void> {
  if (retried.length === 0) return;
  const kept = quarantine.map(({ externalId }) => externalId.toWellFormed());
  await tx
    .updateTable('quarantine')
    .set({ requeuedAt: null, resolvedAt: sql<string>`coalesce(resolved_at, now())` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', sql<string>`any(${retried}::text[])`)
    .where(sql<boolean>`not (resolved_at is null and external_id = any(${kept}::text[]))`)
    .execute();
}
