import type * as real from '../../../../db/queries/runs/records/record-state.ts';
import { knownOf } from '../store/lane-state.ts';
import { memoryOf } from '../store/memory-db.ts';

/** As the query of the same name. */
export const findRecordStates: typeof real.findRecordStates = (db, _scope, { laneId, externalIds }) =>
  memoryOf(db).transact('findRecordStates', (state) =>
    knownOf(state, laneId, externalIds).map(({ externalId, hash, cursor, status, undelivered, flaggedRun }) => {
      const hasPlace = state.places.where((row) => row.laneId === laneId && row.externalId === externalId).length > 0;
      const isFlagged = flaggedRun !== null && hash === '' && !hasPlace;
      return { externalId, hash, cursor, status: isFlagged ? 'flagged' : undelivered ? 'undelivered' : status };
    }),
  );
