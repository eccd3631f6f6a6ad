import type { Token } from './token.ts';

/** A token and what it was obtained with. */
export interface StoredToken extends Token {
  /**
   * The hash of what the token was obtained with or, of a grant, of client and provider: with others it counts as
   * absent.
   */
  readonly madeFor: string;
}

/** The seconds that a process may take to obtain a token, 25, and to save it, 30, before another one tries. */
export const leaseSeconds = 60;

/** Where processes share one token of a connection. */
export interface TokenStore {
  /** Reads the stored token; null: there is none. */
  read(): Promise<StoredToken | null>;
  /** The right to obtain a token, for {@link leaseSeconds}; null: another process has it. */
  lease(): Promise<TokenLease | null>;
}

/** The right to request a token, which one process holds at a time. */
export interface TokenLease {
  /** The stored token, read when the lease was taken. */
  readonly stored: StoredToken | null;
  /**
   * Stores the new token, even when the lease has expired, unless another process has stored one meanwhile: with
   * rotating refresh tokens the first one obtained is the only valid one.
   */
  save(token: StoredToken): Promise<void>;
  /** Gives the lease back, so that another process may take it; no effect when another one already has it. */
  release(): Promise<void>;
}
