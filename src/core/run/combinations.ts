import type { Resource } from '../spec/schema/spec-schema.ts';
import type { Partition } from './reading.ts';
import type { RunStore } from './run-store.ts';

interface CombinedLists {
  readonly forEach: Resource['forEach'];
  readonly lists: readonly number[];
  readonly store: Pick<RunStore, 'dimensionCounts' | 'dimensionValue'>;
}

/** Number of combinations of the lists' values, 1 without lists. */
export async function countCombinations(
  store: Pick<RunStore, 'dimensionCounts'>,
  lists: readonly number[],
): Promise<number> {
  return (await store.dimensionCounts(lists)).reduce((product, values) => product * values, 1);
}

/** The combination with the given number; the values of the last list change fastest. */
export async function combinationAt({ forEach, lists, store }: CombinedLists, no: number): Promise<Partition> {
  const counts = await store.dimensionCounts(lists);
  const keys: string[] = [];
  const each: Record<string, unknown> = {};
  let rest = no;
  for (const [index, { as }] of [...forEach.entries()].toReversed()) {
    const count = counts[index] ?? 1;
    const { key, value } = await store.dimensionValue(lists[index] ?? index, rest % count);
    keys.unshift(key);
    each[as] = value;
    rest = Math.floor(rest / count);
  }
  return { key: partitionKey(keys), each };
}

/** Joins the keys of the values into the key of a partition, empty without any. */
export const partitionKey = (keys: readonly string[]): string =>
  keys.length > 1 ? JSON.stringify(keys) : (keys[0] ?? '');
