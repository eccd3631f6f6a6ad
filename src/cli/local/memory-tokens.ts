import { AppError } from '../../core/errors.ts';
import type { Token, TokenSource } from '../../core/source/auth/token.ts';
import type { StoredToken, TokenStore } from '../../core/source/auth/token-store.ts';

export function createMemoryTokens(): TokenStore {
  let stored: StoredToken | null = null;
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

export function givenToken(accessToken: string): TokenSource {
  const token: Token = { accessToken, expiresAtMs: null, obtainedAtMs: Date.now(), refreshToken: null, metadata: {} };
  return {
    current: async () => token,
    refresh: async () => {
      throw new AppError('auth_failed', 'The API rejects the access token: obtain another one for --access-token.');
    },
  };
}
