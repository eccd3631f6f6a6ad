import type * as real from '../../../../db/queries/runs/records/parents.ts';
import { memoryOf } from '../store/memory-db.ts';

/** No simulated resource is read once per record of another one. */
export const parentsInstant: typeof real.parentsInstant = () => Promise.reject(new Error('not simulated'));

/** As {@link parentsInstant}. */
export const findParents: typeof real.findParents = () => Promise.reject(new Error('not simulated'));

/** As the query of the same name. */
export const isLaneComplete: typeof real.isLaneComplete = (db, _scope, { connectionId, resourceKey }) =>
  memoryOf(db).transact('isLaneComplete', (state) => {
    const runs = state.runs.where((run) => run.connectionId === connectionId && run.resourceKey === resourceKey);
    return runs.some(
      ({ laneId, seq, status, readCompleted, incomplete, backfill }) =>
        (status === 'succeeded' || status === 'partial') &&
        readCompleted &&
        !incomplete &&
        (backfill === null || backfill.rewind === true) &&
        seq >= (state.lanes.get(String(laneId))?.clearedRun ?? 0),
    );
  });
