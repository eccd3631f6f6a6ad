import { sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { SweptRun } from './sweep.ts';

export interface Backlog {
  /** Triggers without queued runs are missing. */
  readonly queued: readonly { readonly trigger: string; readonly runs: number; readonly oldestSeconds: number }[];
  readonly runningRuns: number;
  /**
   * Longest time in seconds for which an open run was not looked after; `0` without open runs. Chunks and sweepers look after
   * runs all the time, so this stays below a minute while a worker works.
   */
  readonly unattendedSeconds: number;
  /** Seconds for which the oldest event that its endpoint would take is due; `0` for none. */
  readonly eventDueSeconds: number;
  /**
   * Resources whose data is older than their schedules promise, by connection status. Only `active` and `error` occur, since
   * others are not meant to sync.
   */
  readonly overdue: readonly { readonly status: string; readonly resources: number; readonly oldestSeconds: number }[];
}

/** Reads by indexes of open work, so that the cost grows with the backlog. */
export async function readBacklog(db: Db): Promise<Backlog> {
  const { rows: open } = await sql<OpenRuns>`
    select status, trigger, count(*)::int as runs, ${age(sql`min(created_at)`)} as oldest_seconds,
      ${age(sql`min(coalesce(progressed_at, dispatched_at, created_at))`)} as unattended_seconds
    from runs where status in ('queued', 'running') group by status, trigger`.execute(db);
  const { rows: due } = await sql<{ readonly seconds: number }>`
    select ${age(sql`min(webhook_endpoint_due_at(webhook_endpoints))`)} as seconds from webhook_endpoints`.execute(db);
  const { rows: overdue } = await sql<Backlog['overdue'][number]>`
    select connections.status, count(*)::int as resources, ${age(sql`min(lanes.overdue_since)`)} as oldest_seconds
    from lanes join connections on connections.org_id = lanes.org_id and connections.id = lanes.connection_id
    where lanes.overdue_since is not null and connections.status in ('active', 'error') and connections.deleted_at is null
    group by connections.status`.execute(db);
  return {
    queued: open.filter(({ status }) => status === 'queued'),
    runningRuns: open.reduce((sum, { status, runs }) => sum + (status === 'running' ? runs : 0), 0),
    unattendedSeconds: Math.max(0, ...open.map(({ unattendedSeconds }) => unattendedSeconds)),
    eventDueSeconds: due[0]?.seconds ?? 0,
    overdue,
  };
}

export interface DispatchedRun extends Omit<SweptRun, 'cancelRequested'> {
  readonly createdAt: string;
  readonly dispatchedAt: string;
}

export function findLastDispatched(db: Db): Promise<DispatchedRun | undefined> {
  return db
    .selectFrom('runs')
    .select(['id', 'orgId', 'connectionId', 'resourceKey', 'scheduleId', 'scheduledFor', 'createdAt'])
    .select('dispatchedAt')
    .where('dispatchedAt', 'is not', null)
    .$narrowType<{ dispatchedAt: string }>()
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

interface OpenRuns {
  readonly status: 'queued' | 'running';
  readonly trigger: string;
  readonly runs: number;
  readonly oldestSeconds: number;
  readonly unattendedSeconds: number;
}

/** `0` for a time in the future, and for `null`. */
const age = (time: ReturnType<typeof sql>) =>
  sql<number>`greatest(0, coalesce(extract(epoch from now() - ${time}), 0))::float8`;
