import { expect, test } from 'vitest';
import { type ListPosition, listBegin } from '../model/run-position.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { listCombinations } from './list-combinations.ts';
import type { PartitionParents, RunStore } from './run-store.ts';

const { signal } = new AbortController();

const begin: ListPosition = { ...listBegin, dimension: 2, listedAt: '2026-01-01T00:00:00.000Z' };

const resource = {
  forEach: [
    { as: 'account', resource: 'accounts', from: 'store', select: 'changed' },
    { as: 'kind', values: '{{ params.kinds }}', from: 'live', select: 'all' },
  ],
} as unknown as Resource;

/** A run of 50 accounts and 50 kinds, of which the combinations of account 45 are to be read; it dies `after` so many writes. */
function world(after = Number.POSITIVE_INFINITY) {
  const kept: number[] = [];
  const asked: PartitionParents[] = [];
  let cleared = 0;
  let position = begin;
  const unused = () => Promise.reject(new Error('not used by this test'));
  const store: RunStore = {
    requeued: unused,
    clearDimension: async () => {
      kept.length = 0;
      cleared += 1;
    },
    addToDimension: async (_dimension, values, next) => {
      if (after === 0) throw new Error('died');
      after -= 1;
      kept.push(...values.map(({ value }) => Number(value)));
      position = next as ListPosition;
    },
    dimensionCounts: async (dimensions) => dimensions.map(() => 50),
    dimensionValue: unused,
    combinations: async (_dimensions, { from, limit }) =>
      Array.from({ length: Math.min(limit, 2500 - from) }, (_, index) => {
        const no = from + index;
        return { no, keys: [`a${Math.floor(no / 50)}`, `k${no % 50}`] };
      }),
    changedPartitions: async (partitions) => {
      asked.push(...partitions);
      const changed = partitions.filter(({ parents: [parent] }) => parent?.externalId === 'a45');
      return new Set(changed.map(({ key }) => key));
    },
    listingInstant: unused,
    parents: unused,
    partition: unused,
    isComplete: unused,
    countMissing: unused,
    findMissing: unused,
    hidesMissing: unused,
    countKnown: unused,
    readSoFar: unused,
    countReplaced: unused,
    findDeleted: unused,
    findListed: unused,
    countListed: unused,
    findDue: unused,
    startsOver: async () => false,
    noteReadsBefore: async () => undefined,
    isClean: unused,
  };
  return {
    store,
    kept,
    asked,
    cleared: () => cleared,
    position: () => position,
    revive: () => {
      after = Number.POSITIVE_INFINITY;
    },
  };
}

const wanted = Array.from({ length: 50 }, (_, kind) => 45 * 50 + kind);

test('every combination is compared by the changed parents in it, and those to be read are kept by number', async () => {
  const { store, kept, asked, position } = world();
  const behind = await listCombinations({ resource, store, signal }, begin);
  expect(asked).toHaveLength(2500);
  expect(asked[51]).toEqual({ key: '["a1","k1"]', parents: [{ resourceKey: 'accounts', externalId: 'a1' }] });
  expect(kept).toEqual(wanted);
  expect(behind).toEqual({ ...begin, dimension: 3 });
  expect(position()).toEqual(behind);
});

test('an attempt goes on behind what the one before has kept', async () => {
  const { store, kept, asked, cleared, position, revive } = world(1);
  await expect(listCombinations({ resource, store, signal }, begin)).rejects.toThrow('died');
  asked.length = 0;
  revive();
  await listCombinations({ resource, store, signal }, position());
  expect(asked[0]?.key).toBe('["a40","k0"]');
  expect(asked).toHaveLength(500);
  expect(kept).toEqual(wanted);
  expect(cleared()).toBe(1);
});

test('more combinations than a run can keep are refused before any is stored', async () => {
  const { store, kept } = world();
  const many: RunStore = { ...store, dimensionCounts: async (dimensions) => dimensions.map(() => 50_000) };
  await expect(listCombinations({ resource, store: many, signal }, begin)).rejects.toMatchObject({
    code: 'spec_invalid',
    message: expect.stringContaining('2500000000 combinations'),
  });
  expect(kept).toEqual([]);
});
