import { nextSlice } from './slices.ts';

/** Milliseconds of work per slice; a page of 50 MB would block the event loop for seconds. */
const workMsMax = 10;
/** Items between two reads of the clock while they are this quick; a read costs as much as a small step of the pipeline. */
const quickItems = { count: 8, ms: 1 } as const;

/**
 * `items.map(map)` that yields to other work of the process every 10 ms; a small page never pauses. `map` gets the data
 * of its page as `context`, so that the function can outlive the page: V8 drops the compiled code of unreferenced
 * functions.
 */
export async function mapWithPauses<Item, Result, Context = undefined>(
  items: readonly Item[],
  map: (item: Item, context: Context, index: number) => Result,
  ...[context]: Context extends undefined ? [] : [context: Context]
): Promise<Result[]> {
  // Allocated at full length: a growing list is copied five times for a page of a hundred.
  const results: Result[] = [];
  results.length = items.length;
  let startedAt = performance.now();
  let lookedAt = startedAt;
  let untilLook = 1;
  // An iterator would allocate per item, because no optimisation spans the pauses.
  for (let index = 0; index < items.length; index += 1) {
    results[index] = map(items[index] as Item, context as Context, index);
    untilLook -= 1;
    if (untilLook > 0) continue;
    const now = performance.now();
    untilLook = now - lookedAt < quickItems.ms ? quickItems.count : 1;
    lookedAt = now;
    if (now - startedAt < workMsMax) continue;
    await nextSlice();
    startedAt = performance.now();
    lookedAt = startedAt;
  }
  return results;
}

/** Items per part, which the steps of a usual batch handle in a millisecond. */
const partItems = 1000;

/** Splits a list into parts, each one item of {@link mapWithPauses}: for steps so short that the calls would dominate. */
export const partsOf = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  items.length <= partItems
    ? [items]
    : Array.from({ length: Math.ceil(items.length / partItems) }, (_, part) =>
        items.slice(part * partItems, (part + 1) * partItems),
      );

/** `items.toSorted(compare)` with the pauses of {@link mapWithPauses}; sorting two ordered lists merges them. */
export async function sortWithPauses<Item>(
  items: readonly Item[],
  compare: (one: Item, other: Item) => number,
): Promise<readonly Item[]> {
  let sorted: readonly (readonly Item[])[] = await mapWithPauses(partsOf(items), (part) => part.toSorted(compare));
  while (sorted.length > 1) {
    const pairs = Array.from({ length: Math.ceil(sorted.length / 2) }, (_, pair) =>
      sorted.slice(2 * pair, 2 * pair + 2),
    );
    sorted = await mapWithPauses(pairs, (pair) => pair.flat().toSorted(compare));
  }
  return sorted[0] ?? [];
}
