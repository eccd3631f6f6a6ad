import { setTimeout as sleepFor } from 'node:timers/promises';
import { AppError } from '../../errors.ts';
import { isFresh, type Token, type TokenSource } from './token.ts';
import { leaseSeconds, type StoredToken, type TokenLease, type TokenStore } from './token-store.ts';

/** Interval at which a process checks whether another one has obtained the token. */
const pollMs = 250;
/** Twice the duration of a lease. */
const retryWindowMs = 2 * leaseSeconds * 1000;

/**
 * Saving is retried until a database has failed over, as the refresh token may be the only valid one and has no other
 * copy. The request before takes at most 25 s, so the lease still holds and no other process uses the old refresh
 * token.
 */
const saveWindowMs = 30_000;
/** Short, so that a save soon follows the return of the database. */
const savePauseMs = 500;

export interface SharedTokensOptions {
  readonly store: TokenStore;
  /** `previous` is the token to replace, or `null` if none is known; `isRefused` if the API rejected it. */
  readonly request: (previous: Token | null, why: { readonly isRefused: boolean }) => Promise<Token>;
  readonly madeFor: string;
  /** Tokens are replaced this long before they expire. */
  readonly bufferMs: number;
  /** Called with each token before it is used. */
  readonly mask: (secret: string) => void;
  readonly now: () => Date;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Each request reads the store; one process at a time obtains a token, without an open transaction, while others wait.
 *
 * A token is saved before use, and a failed save is retried even by a stopped run. A failed request leaves the stored
 * token unchanged; a rejection is ignored if the customer has authorized again meanwhile. Throws `source_unavailable`
 * if no process obtains a token in time, and what `request` throws.
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

  /** `null` if the caller has to check again. */
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
