import type { DimensionValue, Parent, RunStore } from '../run/run-store.ts';
import type { MemoryLedger } from './memory-ledger.ts';

interface MemoryStoreOptions {
  readonly ledger: MemoryLedger;
  readonly now: Date;
  /** The stored records of a parent resource, by external id. */
  readonly parentsOf: (resourceKey: string) => Promise<readonly Parent[]>;
}

/** What a run keeps and asks, in memory. Nothing waits to be tried again. */
export function createMemoryStore({ ledger, now, parentsOf }: MemoryStoreOptions): RunStore {
  const { records } = ledger;
  const dimensions = new Map<number, Map<string, DimensionValue>>();
  const valuesOf = (dimension: number) => dimensions.get(dimension) ?? new Map<string, DimensionValue>();
  const missing = (partition: string | null) => records.live(partition).filter(({ seen }) => !seen);
  return {
    requeued: async () => [],
    clearDimension: async (dimension) => void dimensions.delete(dimension),
    async addToDimension(dimension, values) {
      const held = valuesOf(dimension);
      for (const value of values) if (!held.has(value.key)) held.set(value.key, value);
      dimensions.set(dimension, held);
    },
    dimensionCounts: async (lists) => lists.map((dimension) => valuesOf(dimension).size),
    async dimensionValue(dimension, no) {
      const value = [...valuesOf(dimension).values()][no];
      if (!value) throw new Error(`Dimension ${dimension} has no value ${no}`);
      return value;
    },
    combinations: async (lists, { from, limit }) => {
      const keys = lists.map((dimension) => [...valuesOf(dimension).keys()]);
      return combinationsOf(keys)
        .map((combination, no) => ({ no, keys: combination }))
        .slice(from, from + limit);
    },
    // Nothing was read before the run.
    changedPartitions: async (partitions) => new Set(partitions.map(({ key }) => key)),
    listingInstant: async () => now.toISOString(),
    async parents(resourceKey, { after, limit }) {
      const parents = await parentsOf(resourceKey);
      return parents.filter(({ externalId }) => after === null || externalId > after).slice(0, limit);
    },
    partition: async (key) => ({ watermark: ledger.watermarkOf(key), validators: null }),
    countMissing: async (partition) => ({
      known: records.live(partition).length,
      missing: missing(partition).length,
    }),
    findMissing: async (partition, limit) =>
      missing(partition)
        .slice(0, limit)
        .map(({ externalId }) => externalId),
    findDeleted: async () => [],
    async findLive(externalIds) {
      return records.load(externalIds).flatMap(({ externalId, status }) => (status === 'deleted' ? [] : [externalId]));
    },
    isClean: async () => ledger.isClean(),
  };
}

/** The combinations of the values of some lists; those of the last list change fastest. */
const combinationsOf = (lists: readonly (readonly string[])[]): readonly (readonly string[])[] =>
  lists.reduce<readonly (readonly string[])[]>(
    (begun, keys) => begun.flatMap((head) => keys.map((key) => [...head, key])),
    [[]],
  );
