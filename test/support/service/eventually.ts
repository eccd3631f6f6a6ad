import { setTimeout as sleep } from 'node:timers/promises';

/** How long to wait for a condition. */
export interface EventuallyOptions {
  /** 30 s unless given. */
  readonly timeoutMs?: number;
  /** Between two questions; 50 ms unless given. */
  readonly everyMs?: number;
}

/**
 * Asks until the response is neither null nor undefined nor false, and returns it. Usable outside vitest too.
 * Throws with `what` when the time is over; its cause is the last failure of `ask`, if any.
 */
export async function eventually<Value>(
  what: string,
  ask: () => Promise<Value | null | undefined | false>,
  { timeoutMs = 30_000, everyMs = 50 }: EventuallyOptions = {},
): Promise<Value> {
  const deadline = Date.now() + timeoutMs;
  let failure: unknown;
  for (;;) {
    try {
      const value = await ask();
      if (value !== null && value !== undefined && value !== false) return value;
    } catch (error) {
      failure = error;
    }
    if (Date.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}`, { cause: failure });
    await sleep(everyMs);
  }
}
