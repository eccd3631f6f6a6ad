import type { StoredToken, TokenStore } from './token-store.ts';

/** A store for one process. `keep` has a token before it is used; by default it is kept nowhere else. */
export function createMemoryTokens(
  first: StoredToken | null = null,
  keep: (token: StoredToken) => Promise<void> = async () => undefined,
): TokenStore {
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
          await keep(token);
          stored = token;
        },
        release: async () => {
          isLeased = false;
        },
      };
    },
  };
}
