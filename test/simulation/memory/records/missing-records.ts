import type * as real from '../../../../db/queries/runs/records/missing-records.ts';
import type { ControlState, StoredRecord } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';

/** As the query of the same name. */
export const countMissing: typeof real.countMissing = (db, _scope, scan) =>
  memoryOf(db).transact('countMissing', (state) => {
    const records = known(state, scan);
    return { known: records.length, missing: records.filter(({ seenRun }) => seenRun !== scan.seq).length };
  });

/** As the query of the same name. */
export const findMissing: typeof real.findMissing = (db, _scope, { limit, ...scan }) =>
  memoryOf(db).transact('findMissing', (state) => {
    const missing = known(state, scan).filter(({ seenRun }) => seenRun !== scan.seq);
    return missing
      .map(({ externalId }) => externalId)
      .toSorted()
      .slice(0, limit);
  });

/** As the query of the same name. */
export const findDeleted: typeof real.findDeleted = (db, _scope, { laneId, after, limit }) =>
  memoryOf(db).transact('findDeleted', (state) =>
    state.records
      .where((row) => row.laneId === laneId && row.status === 'deleted' && (after === null || row.externalId > after))
      .map(({ externalId }) => externalId)
      .toSorted()
      .slice(0, limit),
  );

const known = (state: ControlState, { laneId, partition }: real.Scan): StoredRecord[] =>
  state.records.where(
    (row) => row.laneId === laneId && row.status !== 'deleted' && (partition === null || row.partition === partition),
  );
