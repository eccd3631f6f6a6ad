import type { Db } from '../db/client.ts';
import type { Attempt } from '../db/queries/runs/attempts.ts';
import { recordBatch, recordCarried } from '../db/queries/runs/batches.ts';
import { forgetLane } from '../db/queries/runs/forget-lane.ts';
import type { OrgScope } from '../db/scope.ts';
import type { Destination, TargetTable } from '../src/core/destinations/destination.ts';
import { AppError, takenOver } from '../src/core/errors.ts';
import { decodeReceipt } from '../src/core/model/receipt.ts';
import type { Log } from '../src/log.ts';

/** Where an attempt continues: after the last batch that the destination has applied. */
export type StartPoint = Pick<Attempt, 'batchNo' | 'pageNo' | 'position' | 'readCompleted' | 'invalid'> & {
  /** Records read so far. */
  readonly records: number;
  /** Nothing of the lane is at the destination yet; see OpenedLane. */
  readonly fresh: boolean;
  /** External ids of records that an earlier run read and that were acknowledged in this run. */
  readonly carried: readonly string[];
};

interface RepairOptions {
  readonly runId: string;
  readonly attempt: Attempt;
  readonly destination: Destination;
  readonly target: TargetTable;
  readonly log: Log;
}

/**
 * Claims the lane at the destination and compares: a batch that was applied there but not recorded here (a crash
 * between the two commits) is recorded now, from its receipt. The same holds for the last batch of an earlier run
 * that ended in that moment; what was acknowledged only in this run counts as delivered by it. At a destination that is
 * new to the lane the read starts over.
 */
export async function repairFromCheckpoint(db: Db, scope: OrgScope, options: RepairOptions): Promise<StartPoint> {
  const { runId, attempt, destination, target } = options;
  const { connectionId, resourceKey, fence, laneId } = attempt;
  const opened = await destination.open({ lane: `${connectionId}/${resourceKey}`, fence, connectionId, target });
  if (opened.fresh) return startOver(db, scope, options);
  const { checkpoint, fresh, carried } = opened;
  const start = { ...attempt, records: attempt.recordsIn, fresh, carried: carried ? idsIn(carried) : [] };
  if (checkpoint.runId === runId && checkpoint.batchNo <= attempt.batchNo) return start;
  const receipt = decodeReceipt(checkpoint.receipt);
  const batch = { owner: { laneId, fence }, receipt };
  const isCarried = carried !== undefined && receipt.runId !== runId;
  const recorded = await (isCarried ? recordCarried(db, scope, { ...batch, runId }) : recordBatch(db, scope, batch));
  if (recorded.outcome === 'fenced') throw takenOver();
  if (receipt.failure !== null && (isCarried || receipt.runId === runId))
    throw new AppError('record_invalid', receipt.failure);
  if (receipt.runId !== runId) return start;
  return {
    ...start,
    batchNo: receipt.batchNo,
    pageNo: receipt.pages.at(-1)?.pageNo ?? attempt.pageNo,
    position: receipt.position,
    readCompleted: receipt.position === null,
    records: receipt.pages.reduce((sum, page) => sum + page.recordsIn, attempt.recordsIn),
    invalid: receipt.pages.reduce((sum, page) => sum + page.invalid, attempt.invalid),
  };
}

function idsIn(receipt: string): readonly string[] {
  const { records, deleted } = decodeReceipt(receipt);
  return [...records.map(({ externalId }) => externalId), ...deleted];
}

/**
 * The change filter and the watermark describe rows that do not exist: both are deleted before anything is read.
 * A crash before the first batch is applied only repeats it, since nothing was recorded in between. Batch and page
 * numbers continue.
 */
async function startOver(db: Db, scope: OrgScope, { runId, attempt, log }: RepairOptions): Promise<StartPoint> {
  const { laneId, fence, connectionId, resourceKey, watermarkBefore } = attempt;
  const forgotten = await forgetLane(db, scope, { laneId, runId, fence });
  if (forgotten === null) throw takenOver();
  const { records, position } = forgotten;
  if (records > 0 || watermarkBefore !== null) {
    const where = { connectionId, resourceKey, recordsForgotten: records };
    log.warn('the destination is new; everything is read and delivered again', where);
  }
  return { ...attempt, position, readCompleted: false, records: attempt.recordsIn, fresh: true, carried: [] };
}
