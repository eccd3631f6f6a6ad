import { expect, test } from 'vitest';
import { type ListPosition, listBegin } from '../model/run-position.ts';
import { listGroups } from './list-groups.ts';
import type { DimensionValue, RunStore } from './run-store.ts';

const { signal } = new AbortController();

const begin: ListPosition = { ...listBegin, dimension: 1 };

/** A run whose list of members is -2 and that of their groups 0; it dies `after` so many writes. */
function world(members: readonly DimensionValue[], after = Number.POSITIVE_INFINITY) {
  const groups: DimensionValue[] = [];
  let position = begin;
  const unused = () => Promise.reject(new Error('not used by this test'));
  const store = {
    clearDimension: async () => {
      groups.length = 0;
    },
    addToDimension: async (_list, values, next) => {
      if (after === 0) throw new Error('died');
      after -= 1;
      groups.push(...values);
      position = next as ListPosition;
    },
    dimensionCounts: async () => [members.length],
    dimensionValue: async (_list, no) => members[no] ?? (await unused()),
  } satisfies Partial<RunStore> as unknown as RunStore;
  const list = (size: number, join?: string) => {
    const group = { size, ...(join === undefined ? {} : { join }) };
    return listGroups({ store, signal }, { kind: 'groups', group, members: -2, list: 0 }, position);
  };
  return { groups, list, revive: () => (after = Number.POSITIVE_INFINITY), positionNow: () => position };
}

const membersOf = (...keys: readonly (string | number)[]) => keys.map((key) => ({ key: String(key), value: key }));
const numbers = (count: number) => membersOf(...Array.from({ length: count }, (_, no) => no));

test('the values of a list become groups in its order, the last one with what is left', async () => {
  const { groups, list } = world(membersOf(1, 2, 3, 4, 5));
  expect(await list(2, ',')).toEqual({ ...begin, dimension: 2 });
  expect(groups.map(({ value }) => value)).toEqual(['1,2', '3,4', '5']);
});

test('a group without a text between its values is a list', async () => {
  const { groups, list } = world(membersOf(1, 'b'));
  await list(5);
  expect(groups.map(({ value }) => value)).toEqual([[1, 'b']]);
});

test('an empty list has no groups', async () => {
  const { groups, list } = world([]);
  expect(await list(5)).toEqual({ ...begin, dimension: 2 });
  expect(groups).toEqual([]);
});

test('the key of a group is that of its values in any order, and no other group has it', async () => {
  const keyOf = async (...keys: readonly string[]) => {
    const { groups, list } = world(membersOf(...keys));
    await list(10);
    return groups.map(({ key }) => key)[0];
  };
  const key = await keyOf('a', 'b');
  expect(await keyOf('b', 'a')).toBe(key);
  expect(await keyOf('a', 'b', 'c')).not.toBe(key);
  expect(await keyOf('a,b')).not.toBe(key);
  expect(key).toMatch(/^group:[\w-]{43}$/);
});

test('an attempt that dies continues behind the last groups it stored', async () => {
  const { groups, list, revive, positionNow } = world(numbers(2500), 1);
  await expect(list(10)).rejects.toThrow('died');
  expect(positionNow().part).toEqual({ no: 1000, refused: 0 });
  revive();
  await list(10);
  expect(groups.flatMap(({ value }) => value)).toEqual(numbers(2500).map(({ value }) => value));
});
