import type { AppError } from '../../errors.ts';
import type { Batch, RejectedRow } from '../../model/batch.ts';
import { fenced, notTaken } from '../sql/lane-errors.ts';
import type { Session, Values } from './driver/session.ts';
import { lostRace } from './errors.ts';
import type { SqlServerFields } from './fields.ts';
import type { SqlServerRows } from './rows.ts';
import { heldSql } from './write-sql.ts';

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
}

/** The result of the transaction of a batch. */
export type Outcome = 'written' | 'lost' | 'race';

/** The values by which the checkpoint row of a batch is claimed. */
export const heldBy = ({ lane, fence, batch }: BatchWrite): Values => ({
  lane,
  fence: String(fence),
  run: batch.runId,
  batch: batch.batchNo,
});

/** Throws unless rows were written; errors that a retry fixes count as a lost race. */
export async function checkOutcome(
  session: Session,
  { write, outcome }: { readonly write: BatchWrite; readonly outcome: Outcome | undefined },
): Promise<void> {
  if (outcome === 'written') return;
  if (outcome === 'race') throw lostRace();
  throw await lostLane(session, write);
}

async function lostLane(session: Session, write: BatchWrite): Promise<AppError> {
  const sql = heldSql(write.map.prepared.schema);
  const [row] = await session.query<{ readonly isApplied: number }>(sql, heldBy(write));
  return row ? notTaken(write.batch.batchNo, row.isApplied === 1) : fenced();
}
