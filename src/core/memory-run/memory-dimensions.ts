import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import type { DimensionValue, RunStore } from '../run/run-store.ts';

type MemoryDimensions = Pick<
  RunStore,
  'clearDimension' | 'addToDimension' | 'dimensionCounts' | 'dimensionValue' | 'combinations'
>;

interface Dimension {
  readonly keys: Set<string>;
  readonly values: DimensionValue[];
}

/** The lists of a run in memory, with at most `valuesMax` values in total. */
export function createMemoryDimensions(valuesMax: number): MemoryDimensions {
  const dimensions = new Map<number, Dimension>();
  const of = (no: number): Dimension => dimensions.get(no) ?? { keys: new Set(), values: [] };
  return {
    clearDimension: async (dimension) => void dimensions.delete(dimension),
    async addToDimension(dimension, values) {
      // Lists in memory take no time: without a pause, a long one would block the process.
      await nextTurn();
      const { keys, values: held } = of(dimension);
      for (const value of values) {
        if (keys.has(value.key)) continue;
        keys.add(value.key);
        held.push(value);
      }
      dimensions.set(dimension, { keys, values: held });
      const count = [...dimensions.values()].reduce((sum, one) => sum + one.values.length, 0);
      if (count > valuesMax) {
        throw new AppError(
          'spec_invalid',
          `The lists of forEach have more than ${valuesMax} values. Make them shorter.`,
        );
      }
    },
    dimensionCounts: async (lists) => lists.map((dimension) => of(dimension).values.length),
    async dimensionValue(dimension, no) {
      const value = of(dimension).values[no];
      if (!value) throw new Error(`Dimension ${dimension} has no value ${no}`);
      return value;
    },
    async combinations(lists, { from, limit }) {
      const all = lists.map((dimension) => of(dimension).values);
      const count = all.reduce((product, values) => product * values.length, 1);
      const length = Math.max(0, Math.min(limit, count - from));
      return Array.from({ length }, (_, index) => ({ no: from + index, keys: keysAt(all, from + index) }));
    },
  };
}

function keysAt(lists: readonly (readonly DimensionValue[])[], no: number): readonly string[] {
  let rest = no;
  return lists
    .toReversed()
    .map((values) => {
      const { key = '' } = values[rest % values.length] ?? {};
      rest = Math.floor(rest / values.length);
      return key;
    })
    .toReversed();
}
