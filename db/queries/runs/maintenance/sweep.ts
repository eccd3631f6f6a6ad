import { sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { AddressedRun } from '../firings.ts';

export interface SweptRun extends AddressedRun {
  readonly orgId: string;
  readonly cancelRequested: boolean;
}

export const sweptColumns = [
  'id',
  'orgId',
  'connectionId',
  'resourceKey',
  'scheduleId',
  'scheduledFor',
  sql<boolean>`cancel_requested_at is not null`.as('cancelRequested'),
] as const;

/**
 * The oldest of each org first, then the second oldest, and so on. All queries here cross orgs and return ids: every further step
 * takes a scope made from them.
 */
export function findUndispatchedRuns(db: Db, { olderThanMs, limit }: SweepOptions): Promise<SweptRun[]> {
  return db
    .selectFrom('runs')
    .select(sweptColumns)
    .where('status', '=', 'queued')
    .where('dispatchedAt', 'is', null)
    .where('createdAt', '<', ago(olderThanMs))
    .orderBy(sql`row_number() over (partition by org_id order by created_at)`)
    .orderBy('createdAt')
    .limit(limit)
    .execute();
}

/** Dispatched runs that are not final and of which nothing was recorded for a while. */
export function findSilentRuns(db: Db, { olderThanMs, limit }: SweepOptions): Promise<SweptRun[]> {
  return db
    .selectFrom('runs')
    .select(sweptColumns)
    .where('status', 'in', ['queued', 'running'])
    .where('dispatchedAt', 'is not', null)
    .where(sql`coalesce(progressed_at, dispatched_at)`, '<', ago(olderThanMs))
    .orderBy(sql`coalesce(progressed_at, dispatched_at)`)
    .limit(limit)
    .execute();
}

export interface SweptSchedule {
  readonly id: string;
  readonly orgId: string;
}

/** Schedules whose newest version Temporal does not have, those due longest first. */
export function findSchedulesToApply(db: Db, limit: number): Promise<SweptSchedule[]> {
  return db
    .selectFrom('schedules')
    .select(['id', 'orgId'])
    .whereRef('appliedVersion', '<', 'version')
    .where('applyAt', '<=', sql<string>`now()`)
    .orderBy('applyAt')
    .limit(limit)
    .execute();
}

/** Schedules whose missed firings were not read from Temporal in the last hour. */
export function findSchedulesToAsk(db: Db, limit: number): Promise<SweptSchedule[]> {
  return db
    .selectFrom('schedules')
    .select(['id', 'orgId'])
    .where('deletedAt', 'is', null)
    .where('missedSeenAt', '<', sql<string>`now() - interval '1 hour'`)
    .orderBy('missedSeenAt')
    .limit(limit)
    .execute();
}

export function findLiveSchedules(db: Db): Promise<(SweptSchedule & { readonly paused: boolean })[]> {
  return db
    .selectFrom('schedules')
    .innerJoin('connections', 'connections.id', 'schedules.connectionId')
    .select([
      'schedules.id',
      'schedules.orgId',
      sql<boolean>`not schedules.enabled or connections.status <> 'active'`.as('paused'),
    ])
    .where('schedules.deletedAt', 'is', null)
    .execute();
}

interface SweepOptions {
  readonly olderThanMs: number;
  readonly limit: number;
}

const ago = (ms: number) => sql<string>`now() - make_interval(secs => ${ms / 1000})`;

export interface SweptEndpoint {
  readonly id: string;
  readonly orgId: string;
}

/** Endpoints with messages due, or attempts requested, some time ago, or with lost leases. */
export async function findEndpointsToWake(
  db: Db,
  {
    overdueMs,
    requestedMs,
    limit,
  }: { readonly overdueMs: number; readonly requestedMs: number; readonly limit: number },
): Promise<SweptEndpoint[]> {
  const { rows } = await sql<SweptEndpoint>`
    select id, org_id from webhook_endpoints
    where webhook_endpoint_due_at(webhook_endpoints) < ${ago(overdueMs)}
      or exists (
        select 1 from webhook_deliveries
        where endpoint_id = webhook_endpoints.id and state in ('queued', 'sending')
          and (lease_until < now() or (state = 'queued' and deleted_at is null and webhook_deliveries.created_at < ${ago(requestedMs)})))
    limit ${limit}`.execute(db);
  return rows;
}
