/**
 * Does `work` for each item in order, for at most `max` at the same time. After a failure no further one is begun; it is
 * thrown when those under way have ended.
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
