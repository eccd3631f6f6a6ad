import type * as real from '../../../../db/queries/runs/lanes/leftovers.ts';
import { holdsLaneIn } from '../batches/batch-owner.ts';
import { keyOf } from '../store/control-state.ts';
import { nothingKnown } from '../store/lane-state.ts';
import { memoryOf } from '../store/memory-db.ts';
import { forgetUndelivered } from './rewind.ts';

/** As the query of the same name. */
export const noteLeftovers: typeof real.noteLeftovers = (db, _scope, { owner, externalIds }) =>
  memoryOf(db).transact('noteLeftovers', (state) => {
    if (!holdsLaneIn(state, owner)) return false;
    for (const externalId of externalIds) {
      const known = state.records.get(keyOf(owner.laneId, externalId));
      if (known) state.records.update(known, { undelivered: null });
      else state.records.put({ ...nothingKnown, status: 'delivered', laneId: owner.laneId, externalId });
    }
    return true;
  });

/** As the query of the same name. */
export const noteCompared: typeof real.noteCompared = (db, _scope, owner) =>
  memoryOf(db).transact('noteCompared', (state) => {
    const lane = state.lanes.get(String(owner.laneId));
    if (lane?.fence !== owner.fence) return false;
    state.lanes.update(lane, { lacksRecords: false });
    return true;
  });

/** As the query of the same name. */
export const noteRestored: typeof real.noteRestored = (db, _scope, owner) =>
  memoryOf(db).transact('noteRestored', (state) => {
    if (!holdsLaneIn(state, owner)) return false;
    forgetUndelivered(state, owner.laneId);
    return true;
  });
