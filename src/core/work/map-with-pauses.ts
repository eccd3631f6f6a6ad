import { nextSlice } from './slices.ts';

/** Milliseconds of work in one slice: a page of 50 MB would block the event loop for seconds. */
const workMsMax = 10;
/** Items between two looks at the clock, which costs as much as a small step of the pipeline, while they are this quick. */
const quickItems = { count: 8, ms: 1 } as const;

/**
 * `items.map(map)` that lets other work of this process have its turn every 10 ms; a small page never pauses. What
 * `map` needs to know of the page is its `context`, so that it can be a function that outlives the page. V8 drops the
 * compiled code of a function that is no longer referenced.
 */
export async function mapWithPauses<Item, Result, Context = undefined>(
  items: readonly Item[],
  map: (item: Item, context: Context, index: number) => Result,
  ...[context]: Context extends undefined ? [] : [context: Context]
): Promise<Result[]> {
  // As long as it will be: one that grows is copied five times for a page of a hundred.
  const results: Result[] = [];
  results.length = items.length;
  let startedAt = performance.now();
  let lookedAt = startedAt;
  let untilLook = 1;
  // An iterator would allocate for each item, as no optimisation spans the pauses.
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

/** The items of a part, which the steps of a usual batch take in a millisecond. */
const partItems = 1000;

/**
 * A list in parts, each of which is one item of {@link mapWithPauses}: where a step is so short that the calls would take
 * longer than it does.
 */
export const partsOf = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  items.length <= partItems
    ? [items]
    : Array.from({ length: Math.ceil(items.length / partItems) }, (_, part) =>
        items.slice(part * partItems, (part + 1) * partItems),
      );

/** `items.toSorted(compare)` that pauses as {@link mapWithPauses} does: two lists in order are merged when they are sorted. */
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
