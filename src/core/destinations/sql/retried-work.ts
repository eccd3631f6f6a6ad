import { setTimeout as delay } from 'node:timers/promises';

/** Times that a transaction is tried which loses against others; the pauses add up to about a second. */
export const attemptsMax = 6;

/** How work that failed is repeated: at once, after a random pause that grows with each attempt, or not at all. */
export type Repetition = 'at_once' | 'after_pause' | 'never';

/** Repeats work as `decide` says of its error and of the number of the attempt, from 1; throws the last error. */
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
