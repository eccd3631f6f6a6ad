import { takenOver } from '../../errors.ts';
import type { OpenedLane } from '../destination.ts';

/** All `null` if no batch was applied at the lane's table yet. */
export interface StoredCheckpoint {
  readonly runId: string | null;
  readonly batchNo: number | null;
  readonly receipt: string | null;
}

/** Throws `fenced` without a row: a later attempt holds the lane. */
export function openedLane(row: StoredCheckpoint | undefined): OpenedLane {
  if (!row) throw takenOver();
  const { runId, batchNo, receipt } = row;
  if (runId === null || batchNo === null || receipt === null) return { fresh: true, checkpoint: null };
  return { fresh: false, checkpoint: { runId, batchNo, receipt } };
}
