/**
 * Waiting work by org: orgs are served in turn, and the work of each in FIFO order. For limits that must be fair to
 * orgs or depend on them; p-limit knows one queue and one number.
 */
export interface FairQueue<Item> {
  add(orgId: string, item: Item): void;
  /** Takes the next item that `may` begin and moves its org to the end; `undefined` if none may. */
  take(may: (orgId: string, item: Item) => boolean): Item | undefined;
  size(): number;
  /** Removes and returns everything that waits. */
  clear(): readonly Item[];
}

export function createFairQueue<Item>(): FairQueue<Item> {
  /** Waiting orgs in the order of their turns, without those that wait for nothing. */
  const waiting = new Map<string, Item[]>();
  return {
    add(orgId, item) {
      const items = waiting.get(orgId);
      if (items) items.push(item);
      else waiting.set(orgId, [item]);
    },
    take(may) {
      for (const [orgId, items] of waiting) {
        const index = items.findIndex((item) => may(orgId, item));
        if (index === -1) continue;
        const [taken] = items.splice(index, 1);
        waiting.delete(orgId);
        if (items.length > 0) waiting.set(orgId, items);
        return taken;
      }
      return undefined;
    },
    size: () => [...waiting.values()].reduce((sum, items) => sum + items.length, 0),
    clear() {
      const all = [...waiting.values()].flat();
      waiting.clear();
      return all;
    },
  };
}
