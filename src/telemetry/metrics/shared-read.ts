import { setTimeout as sleep } from 'node:timers/promises';

/** The milliseconds that a scrape waits for a read. */
const readMs = 5000;

/**
 * A read that scrapes share: the returned function reads again once `freshMs` (of the milliseconds that the last read took) are
 * over. A read that is late goes on; there is never a second one beside it. `read` must not reject.
 */
export function sharedRead(
  read: () => Promise<void>,
  freshMs: (tookMs: number) => number,
): () => Promise<'done' | 'late'> {
  let reading: Promise<'done'> | null = null;
  let freshUntil = Number.NEGATIVE_INFINITY;
  const readAgain = async (): Promise<'done'> => {
    const from = performance.now();
    await read();
    const to = performance.now();
    freshUntil = to + freshMs(to - from);
    reading = null;
    return 'done';
  };
  return async () => {
    if (performance.now() < freshUntil) return 'done';
    reading ??= readAgain();
    const late = new AbortController();
    const timeout = sleep(readMs, 'late' as const, { signal: late.signal }).catch(() => 'done' as const);
    const first = await Promise.race([reading, timeout]);
    late.abort();
    return first;
  };
}
