import type { LookupStore } from '../source/lookups/lookup-store.ts';

/** Looked-up values of one run, which ends before any of them expires. */
export function createMemoryLookups(): LookupStore {
  const values = new Map<string, string | null>();
  return {
    read: async (_scope, keys) =>
      new Map(
        keys.flatMap((key) => {
          const text = values.get(key);
          return text === undefined ? [] : [[key, text]];
        }),
      ),
    async write(_scope, kept) {
      for (const { key, text } of kept) values.set(key, text);
    },
  };
}
