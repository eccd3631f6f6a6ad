/**
 * Work that waits, by org: orgs that wait are served in turn, and the work of one of them first in first out. For limits
 * that must be fair to orgs or depend on them: p-limit knows one queue and one number.
 */
export interface FairQueue<Item> {
  add(orgId: string, item: Item): void;
  /** The next item that `may` begin; its org is then the last in turn. Undefined: none may. */
  take(may: (orgId: string, item: Item) => boolean): Item | undefined;
  /** How many items wait. */
  size(): number;
  /** Everything that waits, which then waits no more. */
  clear(): readonly Item[];
}

/** An empty queue. */
export function createFairQueue<Item>(): FairQueue<Item> {
  /** The waiting orgs in the order of their turns; an org that waits for nothing is not in it. */
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
