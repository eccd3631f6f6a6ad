import { AppError } from '../../core/errors.ts';
import type { Token, TokenSource } from '../../core/source/auth/token.ts';

export function givenToken(accessToken: string): TokenSource {
  const token: Token = { accessToken, expiresAtMs: null, obtainedAtMs: Date.now(), refreshToken: null, metadata: {} };
  return {
    current: async () => token,
    refresh: async () => {
      throw new AppError('auth_failed', 'The API rejects the access token: obtain another one for --access-token.');
    },
  };
}
