import pLimit from 'p-limit';

/**
 * Runs `work` for each item in order, at most `max` concurrently. After a failure no further item starts; the first
 * failure is thrown when those in progress have ended.
 */
export async function atOnce<Item>(
  items: readonly Item[],
  max: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  await pLimit(max).map(items, async (item) => {
    if (failures.length === 0) await work(item).catch((error: unknown) => failures.push(error));
  });
  if (failures.length > 0) throw failures[0];
}
