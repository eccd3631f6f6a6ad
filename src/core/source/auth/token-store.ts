import type { Token } from './token.ts';

export interface StoredToken extends Token {
  /**
   * Hash of the inputs that a token was obtained with, or of a grant's client and provider; with others it counts as
   * absent.
   */
  readonly madeFor: string;
}

/** 25 s to obtain a token and 30 s to save it, before another process tries. */
export const leaseSeconds = 60;

export interface TokenStore {
  read(): Promise<StoredToken | null>;
  /** `null` if another process holds the lease, which lasts {@link leaseSeconds}. */
  lease(): Promise<TokenLease | null>;
}

export interface TokenLease {
  /** Read when the lease was taken. */
  readonly stored: StoredToken | null;
  /**
   * Saves even after the lease has expired, unless another process has saved a token: with rotating refresh tokens,
   * only the first is valid.
   */
  save(token: StoredToken): Promise<void>;
  /** Has no effect if another process holds the lease. */
  release(): Promise<void>;
}
