import type * as real from '../../../../db/queries/runs/lanes/rewind.ts';
import type { ControlState, StoredPartitionRow, StoredRun } from '../store/control-state.ts';
import { laneWatermark, lowerWatermark } from '../store/lane-state.ts';

/** As in the real module. */
export const rewindStart: typeof real.rewindStart = { stage: 'bury', after: null };

/** As `rewindLane` of the real module, as a part of the transaction in which the run begins. */
export function rewindLaneIn(state: ControlState, { runId, to }: Parameters<typeof real.rewindLane>[2]): void {
  const run = state.runs.get(runId);
  const lane = run && state.lanes.get(String(run.laneId));
  if (!run || !lane) return;
  state.lanes.update(lane, { recordedWith: null, recordedSince: null });
  if (to === null || wasSetBackMeanwhile(state, run)) clearProgressIn(state, lane.id);
  else {
    for (const row of state.partitions.where(({ laneId }) => laneId === lane.id)) {
      const watermark = row.partition === '' ? to : row.watermark === null ? null : lowerWatermark([row.watermark, to]);
      state.partitions.update(row, { ...nothingRead, watermark, updatedAt: state.now() });
    }
  }
  const delivered = state.records.where(({ laneId, status }) => laneId === lane.id && status === 'delivered');
  for (const record of delivered) state.records.update(record, { hash: '' });
  forgetUndelivered(state, lane.id);
  const ended = state.runs.where(
    ({ id, laneId, status }) => laneId === lane.id && id !== runId && status !== 'queued' && status !== 'running',
  );
  for (const other of ended) state.runs.update(other, { batchNo: other.batchNo + 1 });
  const watermark = laneWatermark(state, lane.id);
  state.runs.update(run, { watermarkBefore: watermark, watermarkAfter: watermark, position: rewindStart });
}

/** As the function of the same name. */
export const forgetUndelivered = (state: ControlState, lane: number): void =>
  void state.records.updateWhere(({ laneId, undelivered }) => laneId === lane && undelivered === true, {
    undelivered: null,
  });

/** A partition of which nothing is known. */
export const nothingRead = {
  watermark: null,
  validators: null,
  listedAt: null,
  readAt: null,
  deletionsTo: null,
} as const;

/** As `clearProgress` of the real module. */
export function clearProgressIn(state: ControlState, lane: number): number {
  const deleted = state.partitions.deleteWhere(({ laneId, firstStart }) => laneId === lane && firstStart === null);
  const isRead = ({ watermark, validators, listedAt, readAt, deletionsTo }: StoredPartitionRow): boolean =>
    [watermark, validators, listedAt, readAt, deletionsTo].some((value) => value !== null);
  const cleared = state.partitions.where((row) => row.laneId === lane && isRead(row));
  for (const row of cleared) state.partitions.update(row, { ...nothingRead, updatedAt: state.now() });
  return deleted + cleared.length;
}

const wasSetBackMeanwhile = (state: ControlState, { id, laneId, createdAt }: StoredRun): boolean =>
  state.runs
    .where((run) => run.laneId === laneId && run.id !== id && run.startedAt !== null)
    .some(
      ({ finishedAt, watermarkBefore, backfill }) =>
        finishedAt !== null && finishedAt >= createdAt && (watermarkBefore === null || backfill?.rewind === true),
    );
