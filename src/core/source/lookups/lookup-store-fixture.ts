/** For tests: a store of looked-up values in memory, with a clock that the test moves. */
import type { CacheScope, LookupStore } from './lookup-store.ts';

/** {@link MemoryStore.nextRun} is the store of another run of the same connection. */
export interface MemoryStore extends LookupStore {
  nextRun(): MemoryStore;
  pass(seconds: number): void;
  count(scope: CacheScope): number;
}

type PageCacheView = Map<string, { readonly text: string | null; readonly until: number }>;

export function memoryStore(shared: PageCacheView = new Map(), clock = { now: 0 }): MemoryStore {
  const pageCaches: Readonly<Record<CacheScope, PageCacheView>> = { run: new Map(), connection: shared };
  return {
    read: async (scope, keys) =>
      new Map(
        keys.flatMap((key) => {
          const kept = pageCaches[scope].get(key);
          return kept && kept.until > clock.now ? [[key, kept.text]] : [];
        }),
      ),
    write: async (scope, values) => {
      for (const { key, text, ttlSeconds } of values) {
        pageCaches[scope].set(key, {
          text,
          until: ttlSeconds === null ? Number.POSITIVE_INFINITY : clock.now + ttlSeconds,
        });
      }
    },
    nextRun: () => memoryStore(shared, clock),
    pass: (seconds) => {
      clock.now += seconds;
    },
    count: (scope) => pageCaches[scope].size,
  };
}
