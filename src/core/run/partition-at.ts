import type { Partition } from './partition-reads.ts';
import type { RunReading } from './read-run.ts';

/** The partition with the given number: the values of the last dimension change fastest. */
export async function partitionAt({ resource, store }: RunReading, no: number): Promise<Partition> {
  if (resource.forEach.length === 0) return { key: '', each: {} };
  const counts = await store.dimensionCounts(resource.forEach.length);
  const keys: string[] = [];
  const each: Record<string, unknown> = {};
  let rest = no;
  for (const [dimension, { as }] of [...resource.forEach.entries()].toReversed()) {
    const count = counts[dimension] ?? 1;
    const { key, value } = await store.dimensionValue(dimension, rest % count);
    keys.unshift(key);
    each[as] = value;
    rest = Math.floor(rest / count);
  }
  return { key: keys.length === 1 ? (keys[0] ?? '') : JSON.stringify(keys), each };
}
