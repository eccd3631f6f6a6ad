import type { Db } from '../../db/client.ts';
import { type BucketRate, takeToken } from '../../db/queries/connections/buckets.ts';
import type { OrgScope } from '../../db/scope.ts';

/** Seconds whose tokens may be taken together: a fast API costs an occasional statement, not one per request. */
const togetherSeconds = 0.05;

/** Tokens of one bucket that are taken but not used yet. */
interface TokenStock {
  left: number;
  /** When they may first be used, in milliseconds since the epoch. */
  readonly readyAt: number;
}

export interface PrefetchedTokens {
  /** Milliseconds to wait before sending; the token is taken only if they are at most `waitMsMax`. */
  take(rate: BucketRate, waitMsMax: number): Promise<number>;
  clear(): void;
}

/** For one run: unused tokens are lost, which is less than the bucket gives in 50 ms. */
export function createPrefetchedTokens(db: Db, scope: OrgScope): PrefetchedTokens {
  const tokensByBucket = new Map<string, TokenStock>();
  return {
    async take(rate, waitMsMax) {
      const stock = tokensByBucket.get(rate.name);
      if (stock && stock.left > 0) {
        stock.left -= 1;
        return Math.max(0, stock.readyAt - Date.now());
      }
      const tokens = tokensTogether(rate);
      const waitMs = await takeToken(db, scope, { rate, tokens, waitMsMax });
      if (waitMs <= waitMsMax) tokensByBucket.set(rate.name, { left: tokens - 1, readyAt: Date.now() + waitMs });
      return waitMs;
    },
    clear: () => tokensByBucket.clear(),
  };
}

const tokensTogether = ({ requests, perSeconds, burst }: BucketRate): number =>
  Math.max(1, Math.min(burst, Math.floor((requests / perSeconds) * togetherSeconds)));
