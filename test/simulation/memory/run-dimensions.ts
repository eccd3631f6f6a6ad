import type * as real from '../../../db/queries/runs/run-dimensions.ts';
import { holdsLaneIn } from './batches/batch-owner.ts';
import { type ControlState, keyOf, type StoredRun } from './store/control-state.ts';
import { laneWatermark } from './store/lane-state.ts';
import { memoryOf } from './store/memory-db.ts';
import { stored } from './store/stored-json.ts';

/** As the query of the same name. */
export const clearDimension: typeof real.clearDimension = (db, _scope, { runId, owner, dimension }) =>
  memoryOf(db).transact('clearDimension', (state) => {
    if (!holdsLaneIn(state, owner)) return false;
    state.dimensions.deleteWhere((row) => row.runId === runId && row.dimension === dimension);
    return true;
  });

/** As the query of the same name. */
export const addToDimension: typeof real.addToDimension = (db, { orgId }, part) =>
  memoryOf(db).transact('addToDimension', (state) => {
    const { runId, owner, dimension, values, position } = part;
    if (!holdsLaneIn(state, owner)) return false;
    const rows = valuesOf(state, runId, dimension);
    const keys = new Set(rows.map(({ key }) => key));
    let no = rows.reduce((next, row) => Math.max(next, row.no + 1), 0);
    for (const { key, value } of values) {
      if (keys.has(key)) continue;
      keys.add(key);
      state.dimensions.insert({ orgId, runId, dimension, no, key, value: stored(value) });
      no += 1;
    }
    const progress = { position: stored(position), progressedAt: state.now() };
    const isRunning = ({ id, status }: StoredRun) => id === runId && status === 'running';
    state.runs.updateWhere(({ id }) => id === runId, { ...progress, attempts: 0 });
    state.runs.updateWhere(isRunning, { errorCode: null, errorMessage: null });
    return true;
  });

const valuesOf = (state: ControlState, runId: string, dimension: number) =>
  state.dimensions.where((row) => row.runId === runId && row.dimension === dimension);

/** As the query of the same name. */
export const countDimensions: typeof real.countDimensions = (db, _scope, runId) =>
  memoryOf(db).transact('countDimensions', (state) => countsOf(state, runId));

function countsOf(state: ControlState, runId: string) {
  const counts = new Map<number, number>();
  for (const { dimension } of state.dimensions.where((row) => row.runId === runId))
    counts.set(dimension, (counts.get(dimension) ?? 0) + 1);
  return [...counts].map(([dimension, count]) => ({ dimension, count }));
}

/** As the query of the same name. */
export const findDimensionValue: typeof real.findDimensionValue = (db, _scope, { runId, dimension, no }) =>
  memoryOf(db).transact('findDimensionValue', (state) => {
    const found = state.dimensions.get(keyOf(runId, dimension, no));
    return found && { key: found.key, value: found.value };
  });

/** As the query of the same name. */
export const findCombinations: typeof real.findCombinations = (db, _scope, { runId, lists, from, limit }) =>
  memoryOf(db).transact('findCombinations', (state) => {
    const total = lists.reduce((product, { count }) => product * count, 1);
    const end = Math.min(from + limit, total);
    const numbers = Array.from({ length: Math.max(0, end - from) }, (_, index) => from + index);
    return numbers.flatMap((no) => {
      const keys = placesOf(no, lists).map(
        (place, index) => state.dimensions.get(keyOf(runId, lists[index]?.dimension ?? 0, place))?.key,
      );
      const found = keys.filter((key) => key !== undefined);
      return found.length < keys.length ? [] : [{ no, keys: found }];
    });
  });

/** The place in each list of the combination of that number: those of the last change fastest. */
function placesOf(no: number, lists: readonly { readonly count: number }[]): readonly number[] {
  let rest = no;
  return lists
    .toReversed()
    .map(({ count }) => {
      const place = rest % count;
      rest = Math.floor(rest / count);
      return place;
    })
    .toReversed();
}

/** As the query of the same name. */
export const findPartition: typeof real.findPartition = (db, _scope, { laneId, partition }) =>
  memoryOf(db).transact('findPartition', (state) => {
    const found = state.partitions.get(keyOf(laneId, partition));
    if (!found) return undefined;
    const { watermark, validators, firstStart, readAt, deletionsTo, shape } = found;
    return { watermark, validators, firstStart, readAt, deletionsTo, shape };
  });

/** As `closePartitions` of the real module. */
export function closePartitionsIn(state: ControlState, runId: string): void {
  const run = state.runs.get(runId);
  const counts = countsOf(state, runId).filter(({ dimension }) => dimension >= 0);
  if (!run || counts.length === 0) return;
  const listed = counts.reduce((product, { count }) => product * count, 1);
  state.dimensions.deleteWhere((row) => row.runId === runId);
  const read = state.partitions.where(({ laneId }) => laneId === run.laneId).length;
  state.runs.update(run, { watermarkAfter: read >= listed ? laneWatermark(state, run.laneId) : null });
}
