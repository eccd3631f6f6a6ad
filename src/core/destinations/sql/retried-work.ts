import { setTimeout as delay } from 'node:timers/promises';

/** Attempts for a transaction that loses against others; the pauses add up to about a second. */
export const attemptsMax = 6;

/** The random pause grows with each attempt. */
export type Repetition = 'at_once' | 'after_pause' | 'never';

/** `decide` gets the error and the attempt number, counted from 1. Throws the last error. */
export async function retriedWork<Result>(
  work: () => Promise<Result>,
  decide: (error: unknown, attempt: number) => Repetition | Promise<Repetition>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const repetition = await decide(error, attempt);
      if (repetition === 'never') throw error;
      if (repetition === 'after_pause') await delay(Math.random() * 20 * 2 ** attempt);
    }
  }
}
