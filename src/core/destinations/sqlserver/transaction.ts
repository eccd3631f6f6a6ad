import { attemptsMax, retriedWork } from '../sql/retried-work.ts';
import type { Session } from './driver/session.ts';
import { isConflict, isDuplicateKey, isUnnumbered } from './server-error.ts';

/** Attempts for which a duplicate key counts as a lost race; after that it is an error of the row. */
const racesMax = 2;
/** Retries after an error without a known cause; after that the whole run is retried. */
const unnumberedMax = 2;

/**
 * Safe only for a single transaction or for work that may be repeated. A broken connection is never retried here, since its
 * outcome is unknown.
 */
export const withConflictRetries = <Result>(session: Session, work: () => Promise<Result>): Promise<Result> =>
  retriedWork(work, async (error, attempt) => {
    await rollBack(session);
    if (isDuplicateKey(error) && attempt <= racesMax) return 'at_once';
    return mayPass(error, attempt) ? 'after_pause' : 'never';
  });

const mayPass = (error: unknown, attempt: number): boolean =>
  isConflict(error) ? attempt < attemptsMax : isUnnumbered(error) && attempt <= unnumberedMax;

/** XACT_ABORT has rolled back after most errors; the few that it ignores must leave nothing behind either. */
async function rollBack(session: Session): Promise<void> {
  if (session.isUsable()) await session.query('if @@trancount > 0 rollback transaction;');
}
