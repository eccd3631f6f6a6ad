import { type AppError, takenOver } from '../../errors.ts';
import type { Batch, RejectedRow } from '../../model/batch.ts';
import { durableCommitSql } from '../../postgres/durable-commit.ts';
import { checkpointName, tableSql } from '../sql/identifiers.ts';
import { notTaken } from '../sql/lane-errors.ts';
import type { ColumnArray } from './arrays.ts';
import type { PostgresFields } from './fields.ts';
import type { PostgresRows } from './rows.ts';
import { isTrue, type Session } from './session.ts';

export interface PostgresBatch {
  readonly encoded: PostgresRows;
  readonly arrays: readonly ColumnArray[];
  readonly rejected: readonly RejectedRow[];
}

export interface BatchWrite extends PostgresBatch {
  readonly lane: string;
  readonly fence: number;
  readonly connectionId: string;
  readonly map: PostgresFields;
  readonly batch: Batch;
  readonly opensGeneration: boolean;
  readonly cleared: readonly string[];
}

/**
 * Locks and advances the checkpoint row if the lane is still held and the batch is new. In mode replace the table where the run
 * has gathered its rows must still exist, too. The batch commits durably.
 */
export const claimSql = ({ prepared }: PostgresFields): string => `
  update ${checkpointName(prepared.schema)}
  set run_id = $3::text, batch_no = $4, receipt = $5, updated_at = now()
  where lane = $1 and fence = $2 and (run_id is distinct from $3::text or batch_no < $4)
    ${prepared.mode === 'replace' ? `and table_oid = '${tableSql(prepared.schema, prepared.written)}'::regclass` : ''}
  returning ${durableCommitSql('transaction')}`;

/** `receipt` is JSON text, empty while it is not known. */
export const claimValues = ({ lane, fence, batch }: BatchWrite, receipt: string) => [
  lane,
  fence,
  batch.runId,
  batch.batchNo,
  receipt,
];

export async function lostLane(session: Session, { lane, fence, map, batch }: BatchWrite): Promise<AppError> {
  const [held] = await session.query<'isApplied'>(
    `select coalesce(run_id = $3 and batch_no >= $4, false) as "isApplied"
     from ${checkpointName(map.prepared.schema)} where lane = $1 and fence = $2`,
    [lane, fence, batch.runId, batch.batchNo],
  );
  if (!held) return takenOver();
  return notTaken(batch.batchNo, isTrue(held.isApplied));
}
