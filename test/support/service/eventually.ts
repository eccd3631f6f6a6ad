import { setTimeout as sleep } from 'node:timers/promises';

/** How long to wait for a condition. */
export interface EventuallyOptions {
  /** 30 s unless given. */
  readonly timeoutMs?: number;
  /** Between the first questions; 50 ms unless given. They become rarer the longer it takes. */
  readonly everyMs?: number;
}

/** Share of the time that has passed: what takes long is asked for rarely, and noticed hardly later. */
const pauseShare = 0.1;
/** Between two questions at most, unless the first ones are further apart. */
const pauseMsMax = 250;

/**
 * Asks until the response is neither null nor undefined nor false, and returns it. Usable outside vitest too.
 * Throws with `what` when the time is over; its cause is the last failure of `ask`, if any.
 */
export async function eventually<Value>(
  what: string,
  ask: () => Promise<Value | null | undefined | false>,
  { timeoutMs = 30_000, everyMs = 50 }: EventuallyOptions = {},
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
    await sleep(Math.max(everyMs, Math.min(passedMs * pauseShare, pauseMsMax)));
  }
}
