import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Milliseconds of work in one go. A worker does the work of many tenants on one event loop and owes their heartbeats:
 * a page of 50 MB would block it for seconds.
 */
const workMsMax = 10;

/** `items.map(map)` that lets other work of this process have its turn every 10 ms; a small page never pauses. */
export async function mapWithPauses<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let startedAt = performance.now();
  for (const item of items) {
    results.push(map(item));
    if (performance.now() - startedAt < workMsMax) continue;
    await nextTurn();
    startedAt = performance.now();
  }
  return results;
}
