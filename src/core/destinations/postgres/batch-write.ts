import { type AppError, takenOver } from '../../errors.ts';
import type { Batch, RejectedRow } from '../../model/batch.ts';
import { durableCommitSql } from '../../postgres/durable-commit.ts';
import { checkpointName, tableSql } from '../sql/identifiers.ts';
import { notTaken } from '../sql/lane-errors.ts';
import type { ColumnArray } from './arrays.ts';
import type { PostgresFields } from './fields.ts';
import type { PostgresRows } from './rows.ts';
import type { Session } from './session.ts';

/** The rows of a batch as the server takes them. */
export interface PostgresBatch {
  readonly encoded: PostgresRows;
  /** The lists of `encoded`, as parameters. */
  readonly arrays: readonly ColumnArray[];
  /** Rows refused before the server saw them. */
  readonly rejected: readonly RejectedRow[];
}

/** A batch that is written to the table of a lane. */
export interface BatchWrite extends PostgresBatch {
  readonly lane: string;
  readonly fence: number;
  readonly connectionId: string;
  readonly map: PostgresFields;
  readonly batch: Batch;
  /** Mode replace: the first batch of its run, so that rows gathered by an earlier run are deleted. */
  readonly opensGeneration: boolean;
  /** Mode update: the columns that a deleted record leaves null. */
  readonly cleared: readonly string[];
}

/**
 * Locks the checkpoint row and moves it on, if the lane is still held and the batch is new. In mode replace the table
 * in which the run has gathered its rows must still be there, too. The commit of the batch is a durable one.
 */
export const claimSql = ({ prepared }: PostgresFields): string => `
  update ${checkpointName(prepared.schema)}
  set run_id = $3::text, batch_no = $4, receipt = $5, updated_at = now()
  where lane = $1 and fence = $2 and (run_id is distinct from $3::text or batch_no < $4)
    ${prepared.mode === 'replace' ? `and table_oid = '${tableSql(prepared.schema, prepared.written)}'::regclass` : ''}
  returning ${durableCommitSql('transaction')}`;

/** The values of {@link claimSql}, in their order; `receipt`: JSON text, empty while it is not known. */
export const claimValues = ({ lane, fence, batch }: BatchWrite, receipt: string) => [
  lane,
  fence,
  batch.runId,
  batch.batchNo,
  receipt,
];

/** Why a batch could not claim its checkpoint row. */
export async function lostLane(session: Session, { lane, fence, map, batch }: BatchWrite): Promise<AppError> {
  const [held] = await session.query<{ readonly isApplied: boolean }>(
    `select coalesce(run_id = $3 and batch_no >= $4, false) as "isApplied"
     from ${checkpointName(map.prepared.schema)} where lane = $1 and fence = $2`,
    [lane, fence, batch.runId, batch.batchNo],
  );
  if (!held) return takenOver();
  return notTaken(batch.batchNo, held.isApplied);
}
