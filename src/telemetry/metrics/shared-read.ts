import { setTimeout as sleep } from 'node:timers/promises';

const readMs = 5000;

/**
 * Repeats the read once `freshMs` have passed, which gets the milliseconds of the last read. A late read continues, and no
 * second one starts beside it. `read` must not reject.
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
