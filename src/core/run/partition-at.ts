import { combinationAt, countCombinations } from './combinations.ts';
import { combinationsList, comparesCombinations, ownLists } from './list-steps.ts';
import type { Partition, RunReading } from './reading.ts';

type ListedRun = Pick<RunReading, 'resource' | 'source' | 'store'>;

/** Number of partitions of a run once all are listed, 1 without `forEach`. */
export function countPartitions(run: ListedRun): Promise<number> {
  return countCombinations(run.store, comparesCombinations(run) ? [combinationsList] : ownLists(run.resource));
}

/** The partition with the given number, from 0; the values of the last `forEach` change fastest. */
export async function partitionAt(run: ListedRun, no: number): Promise<Partition> {
  const { resource, store } = run;
  const combined = { forEach: resource.forEach, lists: ownLists(resource), store };
  if (!comparesCombinations(run)) return await combinationAt(combined, no);
  const { value } = await store.dimensionValue(combinationsList, no);
  return await combinationAt(combined, Number(value));
}
