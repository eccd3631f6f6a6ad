import { setTimeout as sleepFor } from 'node:timers/promises';
import { AppError } from '../../errors.ts';
import { isFresh, type Token, type TokenSource } from './token.ts';
import { leaseSeconds, type StoredToken, type TokenLease, type TokenStore } from './token-store.ts';

/** The interval in milliseconds at which a process checks whether another one has obtained the token. */
const pollMs = 250;
/** The time for which it checks, in milliseconds: twice the duration of a lease. */
const retryWindowMs = 2 * leaseSeconds * 1000;

/**
 * The time for which a token is saved again, in milliseconds: a database that fails over is back by then. The refresh token
 * in it may be the only valid one, and no other copy exists. The request before takes at most 25 s, so the lease still
 * holds: no other process uses the refresh token that was used.
 */
const saveWindowMs = 30_000;
/** The pause in milliseconds before it is saved again: short, for a save to follow the return of the database at once. */
const savePauseMs = 500;

/** Options for the tokens of one connection. */
export interface SharedTokensOptions {
  readonly store: TokenStore;
  /** Requests a token; `previous` is the one it replaces, null: none is known. `isRefused`: the API rejected it. */
  readonly request: (previous: Token | null, why: { readonly isRefused: boolean }) => Promise<Token>;
  /** See {@link StoredToken.madeFor}. */
  readonly madeFor: string;
  /** A token is replaced this long before it expires. */
  readonly bufferMs: number;
  /** Masks a token. Called with each one before it is used. */
  readonly mask: (secret: string) => void;
  readonly now: () => Date;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Tokens that all processes share: read from the store for every request, obtained by one process at a time while the
 * others wait for its result. No transaction is open meanwhile. A token is saved before it is used; what fails to be saved
 * is saved again, even by a run that was stopped. A failed request leaves the stored token unchanged; a rejected one is
 * ignored when a customer who authorized anew has replaced the stored token meanwhile. Throws
 * `source_unavailable` when no process gets one in time, and what `request` throws.
 */
export function createSharedTokens(options: SharedTokensOptions): TokenSource {
  const { store, madeFor, mask, sleep = sleepUnlessAborted } = options;
  const nowMs = () => options.now().getTime();
  const isUsable = (token: StoredToken | null): token is StoredToken =>
    token?.madeFor === madeFor && isFresh(token, { nowMs: nowMs(), bufferMs: options.bufferMs });

  const save = async (lease: TokenLease, token: StoredToken): Promise<void> => {
    const giveUpAtMs = nowMs() + saveWindowMs;
    for (;;) {
      try {
        return await lease.save(token);
      } catch (error) {
        if (nowMs() + savePauseMs >= giveUpAtMs) throw error;
        await sleep(savePauseMs, neverAborted);
      }
    }
  };

  /** The token that the holder of the lease has or obtains; null: check again. */
  const renew = async (lease: TokenLease, isWanted: IsWanted): Promise<Token | null> => {
    const { stored } = lease;
    try {
      if (isUsable(stored) && isWanted(stored)) return stored;
      const previous = stored?.madeFor === madeFor ? stored : null;
      const token = await options.request(previous, { isRefused: previous !== null && !isWanted(previous) });
      await save(lease, { ...token, madeFor });
      return token;
    } catch (error) {
      const isRefused = error instanceof AppError && error.code === 'auth_failed';
      if (isRefused && (await store.read())?.accessToken !== stored?.accessToken) return null;
      throw error;
    } finally {
      await lease.release();
    }
  };

  const obtain = async (signal: AbortSignal, isWanted: IsWanted): Promise<Token> => {
    const giveUpAtMs = nowMs() + retryWindowMs;
    while (nowMs() < giveUpAtMs) {
      signal.throwIfAborted();
      const lease = await store.lease();
      if (lease) {
        const renewed = await renew(lease, isWanted);
        if (renewed) return renewed;
        continue;
      }
      await sleep(pollMs, signal);
      const stored = await store.read();
      if (isUsable(stored) && isWanted(stored)) return stored;
    }
    throw new AppError(
      'source_unavailable',
      'Another worker has requested a token for this connection and has received no response. Start the run again later.',
    );
  };

  const masked = (token: Token): Token => {
    mask(token.accessToken);
    if (token.refreshToken !== null) mask(token.refreshToken);
    return token;
  };

  return {
    current: async (signal) => {
      const stored = await store.read();
      return masked(isUsable(stored) ? stored : await obtain(signal, () => true));
    },
    refresh: async (signal, rejected) =>
      masked(await obtain(signal, ({ accessToken }) => accessToken !== rejected.accessToken)),
  };
}

const neverAborted = new AbortController().signal;

type IsWanted = (token: Token) => boolean;

async function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleepFor(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
