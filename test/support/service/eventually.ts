import { setTimeout as sleep } from 'node:timers/promises';

/** How long to wait for a condition. */
export interface EventuallyOptions {
  /** 30 s unless given. */
  readonly timeoutMs?: number;
  /** Between two questions. Unless given, it grows with the time that has passed, from 50 to 250 ms. */
  readonly everyMs?: number;
}

/** What takes long is asked for rarely, and noticed hardly later. */
const pauseMs = (passedMs: number): number => Math.min(Math.max(50, passedMs / 10), 250);

/**
 * Asks until the response is neither null nor undefined nor false, and returns it. Usable outside vitest too.
 * Throws with `what` when the time is over; its cause is the last failure of `ask`, if any.
 */
export async function eventually<Value>(
  what: string,
  ask: () => Promise<Value | null | undefined | false>,
  { timeoutMs = 30_000, everyMs }: EventuallyOptions = {},
): Promise<Value> {
  const startedAt = Date.now();
  let failure: unknown;
  for (;;) {
    try {
      const value = await ask();
      if (value !== null && value !== undefined && value !== false) return value;
    } catch (error) {
      failure = error;
    }
    const passedMs = Date.now() - startedAt;
    if (passedMs > timeoutMs) throw new Error(`Not within ${timeoutMs} ms: ${what}`, { cause: failure });
    await sleep(everyMs ?? pauseMs(passedMs));
  }
}
