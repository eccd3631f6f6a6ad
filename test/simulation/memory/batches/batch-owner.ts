import type * as real from '../../../../db/queries/runs/batches/batch-owner.ts';
import type { ControlState } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';

/** As the query of the same name. */
export const holdsLane: typeof real.holdsLane = (tx, _scope, owner) =>
  memoryOf(tx).transact('holdsLane', (state) => holdsLaneIn(state, owner));

/** As {@link holdsLane}, as a part of a transaction. */
export const holdsLaneIn = (state: ControlState, { laneId, fence }: real.BatchOwner): boolean =>
  state.lanes.get(String(laneId))?.fence === fence;
