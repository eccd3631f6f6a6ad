import { sql } from 'kysely';
import { firstIdAt } from '../../../src/core/ids.ts';
import type { RunStatus } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

export interface RunHour {
  readonly hour: string;
  readonly status: RunStatus;
  readonly runs: number;
  readonly recordsOut: number;
}

/** Hours without runs are missing. */
export async function readRunActivity(db: Db, scope: OrgScope, hours: number): Promise<readonly RunHour[]> {
  const earliest = firstIdAt('run', new Date(Date.now() - (hours + 1) * 3_600_000));
  const { rows } = await sql<RunHour>`
    select date_trunc('hour', created_at at time zone 'UTC') at time zone 'UTC' as hour, status,
      count(*) as runs, sum(records_out)::bigint as records_out
    from runs
    where org_id = ${scope.orgId} and id >= ${earliest} and created_at > now() - make_interval(hours => ${hours})
    group by 1, 2 order by 1`.execute(db);
  return rows;
}

export interface RunProgress {
  readonly createdAt: string;
  readonly dispatchedAt: string | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly cancelRequestedAt: string | null;
  /** Last sign of life. */
  readonly progressedAt: string | null;
  /** Recorded batches, and pages in them. */
  readonly batchNo: number;
  readonly pageNo: number;
  readonly attempts: number;
  readonly specVersion: string | null;
  readonly readCompleted: boolean;
  /** Both `null` if no schedule created the run. */
  readonly scheduleId: string | null;
  readonly scheduledFor: string | null;
}

export function findRunProgress(db: Db, scope: OrgScope, id: string): Promise<RunProgress | undefined> {
  return db
    .selectFrom('runs')
    .select([
      'createdAt',
      'dispatchedAt',
      'startedAt',
      'finishedAt',
      'cancelRequestedAt',
      'progressedAt',
      'batchNo',
      'pageNo',
      'attempts',
      'specVersion',
      'readCompleted',
      'scheduleId',
      'scheduledFor',
    ])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export interface RunSlice {
  /** From 1. */
  readonly slice: number;
  readonly pages: number;
  readonly recordsIn: number;
  readonly recordsOut: number;
}

/**
 * Slices have the same length; empty ones are missing. A run that ended with its first batch may have no ledger (`endWithBatch`):
 * it recorded everything when it ended.
 */
export async function findRunSlices(
  db: Db,
  scope: OrgScope,
  {
    id,
    from,
    to,
    slices,
  }: { readonly id: string; readonly from: string; readonly to: string; readonly slices: number },
): Promise<readonly RunSlice[]> {
  const { rows } = await sql<RunSlice>`
    select least(greatest(width_bucket(extract(epoch from recorded_at),
        extract(epoch from ${from}::timestamptz), extract(epoch from ${to}::timestamptz) + 0.001, ${slices}), 1), ${slices}) as slice,
      sum(pages)::bigint as pages, sum(records_in)::bigint as records_in, sum(records_out)::bigint as records_out
    from (
      select recorded_at, 1 as pages, records_in, records_out from run_pages
      where org_id = ${scope.orgId} and run_id = ${id}
      union all
      select finished_at, page_no, records_in, records_out from runs
      where org_id = ${scope.orgId} and id = ${id} and finished_at is not null and batch_no = 1
        and not exists (select from run_pages where run_id = ${id})) recorded
    group by 1 order by 1`.execute(db);
  return rows;
}
