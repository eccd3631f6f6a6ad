import type * as real from '../../../../db/queries/runs/lanes/leftovers.ts';
import { holdsLaneIn } from '../batches/batch-owner.ts';
import { keyOf } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';

/** A record of which nothing is known but that it is there. */
const leftOver = {
  status: 'delivered',
  ...{ hash: '', cursor: null, fields: null, changedAt: null, partition: '', seenRun: null },
  ...{ missed: null, missedRun: null, undelivered: null },
} as const;

/** As the query of the same name. */
export const noteLeftovers: typeof real.noteLeftovers = (db, _scope, { owner, externalIds }) =>
  memoryOf(db).transact('noteLeftovers', (state) => {
    if (!holdsLaneIn(state, owner)) return false;
    for (const externalId of externalIds) {
      if (state.records.get(keyOf(owner.laneId, externalId))) continue;
      state.records.put({ ...leftOver, laneId: owner.laneId, externalId });
    }
    return true;
  });
