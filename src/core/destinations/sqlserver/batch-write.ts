import { type AppError, takenOver } from '../../errors.ts';
import type { Batch, RejectedRow } from '../../model/batch.ts';
import { checkpointName } from '../sql/identifiers.ts';
import { notTaken } from '../sql/lane-errors.ts';
import { tableIdSql } from './checkpoint.ts';
import type { Session, Values } from './driver/session.ts';
import type { SqlServerFields } from './fields.ts';
import type { SqlServerRows } from './rows.ts';
import type { SqlServerTable } from './schema.ts';
import { lostRace } from './server-error.ts';

/** The rows of a batch as the server takes them. */
export interface SqlServerBatch {
  readonly encoded: SqlServerRows;
  /** Rows refused before the server saw them. */
  readonly rejected: readonly RejectedRow[];
}

/** A batch that is written to the table of a lane. */
export interface BatchWrite extends SqlServerBatch {
  readonly lane: string;
  readonly fence: number;
  readonly connectionId: string;
  readonly map: SqlServerFields;
  readonly batch: Batch;
  /** Mode replace: the first batch of its run, so that rows gathered by an earlier run are deleted. */
  readonly opensGeneration: boolean;
  /** Mode update: the columns that a deleted record leaves null. */
  readonly cleared: readonly string[];
}

/**
 * Locks the checkpoint row and moves it on, if the lane is still held and the batch is new. In mode replace the table
 * in which the run has gathered its rows must still be there, too.
 */
export const claimSql = ({ schema, mode, written }: SqlServerTable): string => `
  update ${checkpointName(schema)}
  set run_id = @run, batch_no = @batch, receipt = @receipt, updated_at = @now
  where lane = @lane and fence = cast(@fence as bigint) and (run_id is null or run_id <> @run or batch_no < @batch)
    ${mode === 'replace' ? `and table_id = ${tableIdSql(schema, written)}` : ''};`;

/**
 * The outcome of the transaction of a batch. `lost`: the lane is not held, or the batch is not new; `race`: another
 * transaction was first, and a retry helps; `untouched`: in mode update, the table has no row of some record.
 */
export type WriteOutcome = 'written' | 'lost' | 'race' | 'untouched';

/** Thrown for the outcome `untouched`: which records those are is to be found out. */
export const untouched = new Error('the table has no row of some record');

/** The values of {@link claimSql} but for the receipt. */
export const claimValues = ({ lane, fence, batch }: BatchWrite): Values => ({
  lane,
  fence: String(fence),
  run: batch.runId,
  batch: batch.batchNo,
});

/** Throws `AppError` unless the outcome is `written`; undefined, which is no outcome, counts as `lost`. */
export async function checkOutcome(
  session: Session,
  { write, outcome }: { readonly write: BatchWrite; readonly outcome: WriteOutcome | undefined },
): Promise<void> {
  if (outcome === 'written') return;
  if (outcome === 'race') throw lostRace();
  if (outcome === 'untouched') throw untouched;
  throw await lostLane(session, write);
}

async function lostLane(session: Session, write: BatchWrite): Promise<AppError> {
  const sql = heldSql(write.map.prepared.schema);
  const [held] = await session.query<{ readonly isApplied: number }>(sql, claimValues(write));
  if (!held) return takenOver();
  return notTaken(write.batch.batchNo, held.isApplied === 1);
}

/** Whether the lane is held; whether the batch was applied. */
const heldSql = (schema: string): string => `
  select case when run_id = @run and batch_no >= @batch then 1 else 0 end as is_applied
  from ${checkpointName(schema)} where lane = @lane and fence = cast(@fence as bigint);`;
