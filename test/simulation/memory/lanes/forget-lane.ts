import type * as real from '../../../../db/queries/runs/lanes/forget-lane.ts';
import type { RunPosition } from '../../../../src/core/model/run-position.ts';
import { holdsLaneIn } from '../batches/batch-owner.ts';
import type { ControlState } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';
import { clearProgressIn, rewindStart } from './rewind.ts';

/** As the query of the same name. */
export const forgetLane: typeof real.forgetLane = (db, _scope, { runId, ...owner }) =>
  memoryOf(db).transact('forgetLane', (state) => {
    const { laneId } = owner;
    if (!holdsLaneIn(state, owner)) return null;
    const lane = state.lanes.get(String(laneId));
    const generation = state.newGeneration();
    if (lane) state.lanes.update(lane, { generation });
    const run = state.runs.get(runId);
    const rewinds = run?.backfill?.rewind === true;
    const hasRead = !rewinds && state.records.where((row) => row.laneId === laneId && row.hash !== '').length > 0;
    const records = rewinds ? 0 : deleteRecordStates(state, { laneId, runId });
    const partitions = rewinds
      ? clearProgressIn(state, laneId)
      : state.partitions.deleteWhere((row) => row.laneId === laneId);
    if (run?.laneId !== laneId || run.status !== 'running') return { records, position: null, generation };
    const kept = !hasRead && partitions === 0 && isBegun(run.position) ? run.position : null;
    const position = kept ?? (rewinds ? rewindStart : null);
    state.runs.update(run, { position, readCompleted: false, watermarkBefore: null, watermarkAfter: null });
    return { records, position, generation };
  });

/** A list of partitions, or a report job that is created or waited for. */
const isBegun = (position: RunPosition | null): boolean =>
  position?.stage === 'list' ||
  (position?.stage === 'partition' && (position.read?.job !== undefined || position.read?.pagesRead === 0));

/** As the function of the same name. */
export function noteCleared(
  state: ControlState,
  { laneId, runId }: { readonly laneId: number; readonly runId: string },
): void {
  const lane = state.lanes.get(String(laneId));
  if (lane) state.lanes.update(lane, { clearedRun: state.runs.get(runId)?.seq ?? null });
}

/** As the function of the same name. */
export function deleteRecordStates(
  state: ControlState,
  { laneId, runId }: { readonly laneId: number; readonly runId: string },
): number {
  noteCleared(state, { laneId, runId });
  state.places.deleteWhere((row) => row.laneId === laneId);
  state.listed.deleteWhere((row) => row.laneId === laneId);
  return state.records.deleteWhere((row) => row.laneId === laneId);
}
