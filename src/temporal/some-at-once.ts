/** Concurrent calls: a caller waits for all of them, and Temporal has other callers. */
const atOnce = 10;

/**
 * Does something with each item, with ten of them at a time. Rejects with the first failure, and then starts no others.
 */
export async function someAtOnce<Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += atOnce) {
    await Promise.all(items.slice(from, from + atOnce).map((item) => act(item)));
  }
}
