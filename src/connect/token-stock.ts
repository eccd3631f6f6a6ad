import type { Db } from '../../db/client.ts';
import { type BucketRate, takeToken } from '../../db/queries/connections/buckets.ts';
import type { OrgScope } from '../../db/scope.ts';

/** What a bucket gives in this time may be taken together, s: a fast API costs a statement now and then, not one per request. */
const togetherSeconds = 0.05;

/** Tokens of one bucket that are taken and not used yet. */
interface Stock {
  left: number;
  /** When they may be used, ms since the epoch. */
  readonly readyAt: number;
}

/** Takes tokens of buckets for one run. */
export interface TokenStock {
  /** Milliseconds to wait before sending. At most `waitMsMax`: the token is the caller's. More: it is not. */
  take(rate: BucketRate, waitMsMax: number): Promise<number>;
  /** Gives up what is left, when the API says that there is nothing. */
  clear(): void;
}

/** A stock for one run; what it does not use is lost, which is less than what the bucket gives in 50 ms. */
export function createTokenStock(db: Db, scope: OrgScope): TokenStock {
  const stocks = new Map<string, Stock>();
  return {
    async take(rate, waitMsMax) {
      const stock = stocks.get(rate.name);
      if (stock && stock.left > 0) {
        stock.left -= 1;
        return Math.max(0, stock.readyAt - Date.now());
      }
      const tokens = tokensTogether(rate);
      const waitMs = await takeToken(db, scope, { rate, tokens, waitMsMax });
      if (waitMs <= waitMsMax) stocks.set(rate.name, { left: tokens - 1, readyAt: Date.now() + waitMs });
      return waitMs;
    },
    clear: () => stocks.clear(),
  };
}

const tokensTogether = ({ requests, perSeconds, burst }: BucketRate): number =>
  Math.max(1, Math.min(burst, Math.floor((requests / perSeconds) * togetherSeconds)));
