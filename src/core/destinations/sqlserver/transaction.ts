import { attemptsMax, retriedWork } from '../sql/retried-work.ts';
import type { Session } from './driver/session.ts';
import { isConflict, isDuplicateKey, isUnnumbered } from './server-error.ts';

/** Times that a duplicate key counts as a lost race, before it counts as an error of the row. */
const racesMax = 2;
/** Retries of work after an error without a known cause; after that the whole run is retried. */
const unnumberedMax = 2;

/**
 * Repeats work that the server rolled back because of other transactions. Only safe for what is one transaction or may
 * be done again; a connection that broke is never repeated here, since its outcome is unknown.
 */
export const withConflictRetries = <Result>(session: Session, work: () => Promise<Result>): Promise<Result> =>
  retriedWork(work, async (error, attempt) => {
    await rollBack(session);
    if (isDuplicateKey(error) && attempt <= racesMax) return 'at_once';
    return mayPass(error, attempt) ? 'after_pause' : 'never';
  });

const mayPass = (error: unknown, attempt: number): boolean =>
  isConflict(error) ? attempt < attemptsMax : isUnnumbered(error) && attempt <= unnumberedMax;

/** XACT_ABORT has rolled back after most errors; of those that it passes over nothing may be left either. */
async function rollBack(session: Session): Promise<void> {
  if (session.isUsable()) await session.query('if @@trancount > 0 rollback transaction;');
}
