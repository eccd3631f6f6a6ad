import { attemptsMax, retriedWork } from '../sql/retried-work.ts';
import { isConflict } from './errors.ts';
import type { Session } from './session.ts';

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
 * Retries deadlocks and serialization failures. Safe only for work that is one transaction. Throws every other error at once:
 * after a broken connection the outcome is unknown.
 */
export const withConflictRetries = <Result>(session: Session, work: () => Promise<Result>): Promise<Result> =>
  retriedWork(work, (error, attempt) =>
    isConflict(error) && attempt < attemptsMax && session.isUsable() ? 'after_pause' : 'never',
  );
