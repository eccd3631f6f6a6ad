import { setTimeout as delay } from 'node:timers/promises';
import { isConflict } from './errors.ts';
import type { Session } from './session.ts';

/** Times that a transaction is tried which loses against others; the pauses add up to about a second. */
const attemptsMax = 6;

/** Runs `work` between begin and commit; any error rolls back. */
export async function inTransaction<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  await session.query('begin');
  try {
    const result = await work();
    await session.query('commit');
    return result;
  } catch (error) {
    if (session.isUsable()) await session.query('rollback');
    throw error;
  }
}

/**
 * Repeats work that the server rolled back because of other transactions (deadlock, serialization), after a random pause
 * that grows with each attempt. Only safe for work that is one transaction. It throws the error of the last attempt, and
 * every other error at once: after a broken connection the outcome is unknown.
 */
export async function withConflictRetries<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error) || attempt === attemptsMax || !session.isUsable()) throw error;
      await delay(Math.random() * 20 * 2 ** attempt);
    }
  }
}
