import type * as real from '../../../../db/queries/runs/lanes/written-columns.ts';
import { holdsLaneIn } from '../batches/batch-owner.ts';
import { keyOf } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';

/** As the query of the same name. */
export const findWrittenColumns: typeof real.findWrittenColumns = (db, _scope, { laneId, target }) =>
  memoryOf(db).transact(
    'findWrittenColumns',
    (state) => state.writtenColumns.get(keyOf(laneId, target))?.names ?? null,
  );

/** As the query of the same name. */
export const addWrittenColumns: typeof real.addWrittenColumns = (db, { orgId }, { owner, target, names }) =>
  memoryOf(db).transact('addWrittenColumns', (state) => {
    if (!holdsLaneIn(state, owner)) return false;
    const { laneId } = owner;
    const before = state.writtenColumns.get(keyOf(laneId, target))?.names ?? [];
    state.writtenColumns.put({ orgId, laneId, target, names: [...new Set([...before, ...names])].sort() });
    return true;
  });
