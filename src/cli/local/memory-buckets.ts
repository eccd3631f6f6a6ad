import type { Buckets } from '../../connect/limits-over-buckets.ts';

/** By the rule of those in the database (GCRA). */
export function createMemoryBuckets(now: () => number = Date.now): Buckets {
  /** When each bucket is full again, in milliseconds since the epoch. */
  const fullAt = new Map<string, number>();
  const spacing = ({ requests, perSeconds, burst }: Parameters<Buckets['take']>[0]) => {
    const step = (perSeconds / requests) * 1000;
    return { step, slack: step * (burst - 1) };
  };
  return {
    async take(rate, waitMsMax) {
      const { step, slack } = spacing(rate);
      const from = Math.max(fullAt.get(rate.name) ?? 0, now());
      const waitMs = Math.max(0, from - slack - now());
      if (waitMs <= waitMsMax) fullAt.set(rate.name, from + step);
      return waitMs;
    },
    async empty(rate, waitMs) {
      fullAt.set(rate.name, Math.max(fullAt.get(rate.name) ?? 0, now() + waitMs + spacing(rate).slack));
    },
  };
}
