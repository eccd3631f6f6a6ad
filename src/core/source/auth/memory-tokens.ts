import type { StoredToken, TokenStore } from './token-store.ts';

/** A store for one process, of a token that is kept nowhere else. */
export function createMemoryTokens(first: StoredToken | null = null): TokenStore {
  let stored = first;
  let isLeased = false;
  return {
    read: async () => stored,
    async lease() {
      if (isLeased) return null;
      isLeased = true;
      return {
        stored,
        save: async (token) => {
          stored = token;
        },
        release: async () => {
          isLeased = false;
        },
      };
    },
  };
}
