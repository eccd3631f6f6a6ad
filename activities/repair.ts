import type { Db } from '../db/client.ts';
import type { Attempt } from '../db/queries/attempts.ts';
import { recordBatch } from '../db/queries/batches.ts';
import type { OrgScope } from '../db/scope.ts';
import type { Destination, TargetTable } from '../src/core/destinations/destination.ts';
import { AppError } from '../src/core/errors.ts';
import { decodeReceipt } from '../src/core/pipeline/receipt.ts';

/** Where an attempt goes on: after the last batch that the destination has applied. */
export type StartPoint = Pick<Attempt, 'batchNo' | 'pageNo' | 'position' | 'readCompleted'> & {
  /** Records read so far. */
  readonly records: number;
};

interface RepairOptions {
  readonly runId: string;
  readonly attempt: Attempt;
  readonly destination: Destination;
  readonly target: TargetTable;
}

/**
 * Claims the lane at the destination and compares: a batch that was applied there but not recorded here (a crash
 * between the two commits) is recorded now, from its receipt. The same holds for the last batch of an earlier run
 * that ended in that moment.
 */
export async function repairFromCheckpoint(db: Db, scope: OrgScope, options: RepairOptions): Promise<StartPoint> {
  const { runId, attempt, destination, target } = options;
  const { connectionId, resourceKey, fence, laneId } = attempt;
  const checkpoint = await destination.open({ lane: `${connectionId}/${resourceKey}`, fence, connectionId, target });
  const start = { ...attempt, records: attempt.recordsIn };
  if (!checkpoint || (checkpoint.runId === runId && checkpoint.batchNo <= attempt.batchNo)) return start;
  const receipt = decodeReceipt(checkpoint.receipt);
  const recorded = await recordBatch(db, scope, { owner: { laneId, fence }, receipt });
  if (recorded.outcome === 'fenced') throw new AppError('fenced', 'A newer attempt has taken over this run');
  if (receipt.runId !== runId) return start;
  return {
    batchNo: receipt.batchNo,
    pageNo: receipt.pages.at(-1)?.pageNo ?? attempt.pageNo,
    position: receipt.position,
    readCompleted: receipt.position === null,
    records: receipt.pages.reduce((sum, page) => sum + page.recordsIn, attempt.recordsIn),
  };
}
