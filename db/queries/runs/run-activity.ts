import { sql } from 'kysely';
import { firstIdAt } from '../../../src/core/ids.ts';
import type { RunStatus } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/** What the runs requested within one hour came to. */
export interface RunHour {
  /** Where it begins. */
  readonly hour: string;
  readonly status: RunStatus;
  readonly runs: number;
  /** Records that they delivered, so far. */
  readonly recordsOut: number;
}

/** The runs of the last hours by hour and status; hours without runs are missing. */
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

/** When a run reached each stage, and how far it is. */
export interface RunProgress {
  readonly createdAt: string;
  /** When Temporal took it; null: not yet. */
  readonly dispatchedAt: string | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly cancelRequestedAt: string | null;
  /** The last sign of life; null: none yet. */
  readonly progressedAt: string | null;
  /** Batches recorded, and pages in them. */
  readonly batchNo: number;
  readonly pageNo: number;
  /** Attempts since the last batch was recorded. */
  readonly attempts: number;
  readonly specVersion: string | null;
  readonly readCompleted: boolean;
  /** The firing that created it; nulls: no schedule did. */
  readonly scheduleId: string | null;
  readonly scheduledFor: string | null;
}

/** The progress of a run, or undefined when it is absent or of another org. */
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

/** What was recorded within one of the slices of a run's time. */
export interface RunSlice {
  /** The number of the slice, from 1. */
  readonly slice: number;
  readonly pages: number;
  readonly recordsIn: number;
  readonly recordsOut: number;
}

/**
 * What a run recorded between two times, in so many slices of the same length; those without anything are missing. A run
 * that ended with its first batch may have no ledger (`endWithBatch`): it recorded everything when it ended.
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
