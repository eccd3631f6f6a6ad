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

export interface SqlServerBatch {
  readonly encoded: SqlServerRows;
  readonly rejected: readonly RejectedRow[];
}

export interface BatchWrite extends SqlServerBatch {
  readonly lane: string;
  readonly fence: number;
  readonly connectionId: string;
  readonly map: SqlServerFields;
  readonly batch: Batch;
  readonly opensGeneration: boolean;
  readonly cleared: readonly string[];
}

/**
 * Locks and advances the checkpoint row if the lane is still held and the batch is new. In mode replace the table where the run
 * has gathered its rows must still exist, too.
 */
export const claimSql = ({ schema, mode, written }: SqlServerTable): string => `
  update ${checkpointName(schema)}
  set run_id = @run, batch_no = @batch, receipt = @receipt, updated_at = @now
  where lane = @lane and fence = cast(@fence as bigint) and (run_id is null or run_id <> @run or batch_no < @batch)
    ${mode === 'replace' ? `and table_id = ${tableIdSql(schema, written)}` : ''};`;

/**
 * `lost`: the lane is not held, or the batch is not new. `race`: another transaction was first, and a retry helps. `untouched`:
 * in mode update, the table has no row of some record.
 */
export type WriteOutcome = 'written' | 'lost' | 'race' | 'untouched';

export const untouched = new Error('the table has no row of some record');

export const claimValues = ({ lane, fence, batch }: BatchWrite): Values => ({
  lane,
  fence: String(fence),
  run: batch.runId,
  batch: batch.batchNo,
});

/** Throws `AppError` unless the outcome is `written`; undefined counts as `lost`. */
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

const heldSql = (schema: string): string => `
  select case when run_id = @run and batch_no >= @batch then 1 else 0 end as is_applied
  from ${checkpointName(schema)} where lane = @lane and fence = cast(@fence as bigint);`;
