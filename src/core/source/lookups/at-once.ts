/**
 * Runs `work` for each item in order, at most `max` at the same time. After a failure no further one starts; the
 * failure is thrown when those in progress have ended.
 */
export async function atOnce<Item>(
  items: readonly Item[],
  max: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const failures: unknown[] = [];
  const workOn = async (): Promise<void> => {
    while (failures.length === 0) {
      const next = left.next();
      if (next.done) return;
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, workOn));
  if (failures.length > 0) throw failures[0];
}
