import { attemptsMax, retriedWork } from '../sql/retried-work.ts';
import { isConflict } from './errors.ts';
import type { Session } from './session.ts';

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
export const withConflictRetries = <Result>(session: Session, work: () => Promise<Result>): Promise<Result> =>
  retriedWork(work, (error, attempt) =>
    isConflict(error) && attempt < attemptsMax && session.isUsable() ? 'after_pause' : 'never',
  );
