import type * as real from '../../../../db/queries/runs/lanes/lane-reset.ts';
import type { Reset } from '../../../../src/core/spec/connection/upgrade-plan.ts';
import type { ControlState } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';
import { deleteRecordStates } from './forget-lane.ts';

/** As the query of the same name. */
export const requestReset: typeof real.requestReset = (tx, _scope, lane) =>
  memoryOf(tx).transact('requestReset', (state) => requestResetIn(state, lane));

/** As {@link requestReset}, as a part of a transaction. */
export function requestResetIn(
  state: ControlState,
  lane: { readonly connectionId: string; readonly resourceKey: string; readonly reset: Reset },
): void {
  const { connectionId, resourceKey, reset } = lane;
  const asked = state.lanes.where((row) => row.connectionId === connectionId && row.resourceKey === resourceKey);
  for (const row of asked) state.lanes.update(row, { reset: row.reset === 'state' ? 'state' : reset });
}

/** As `resetLane` of the real module, as a part of the transaction in which the run begins. */
export function resetLaneIn(state: ControlState, runId: string): void {
  const run = state.runs.get(runId);
  const lane = run && state.lanes.get(String(run.laneId));
  if (!run || !lane || lane.reset === null) return;
  const generation = lane.reset === 'state' ? state.newGeneration() : lane.generation;
  state.lanes.update(lane, { reset: null, recordedWith: null, recordedSince: null, generation });
  state.partitions.deleteWhere(({ laneId }) => laneId === lane.id);
  if (lane.reset === 'state') deleteRecordStates(state, { laneId: lane.id, runId });
  const ended = state.runs.where(
    ({ id, laneId, status }) => laneId === lane.id && id !== runId && status !== 'queued' && status !== 'running',
  );
  for (const other of ended) state.runs.update(other, { batchNo: other.batchNo + 1 });
  state.runs.update(run, { watermarkBefore: null, watermarkAfter: null });
}
