import { setTimeout as delay } from 'node:timers/promises';
import type { Session } from './driver/session.ts';
import { isConflict, isDuplicateKey, isUnnumbered } from './server-error.ts';

/** Times that a transaction is tried which loses against others; the pauses add up to about a second. */
const attemptsMax = 6;
/** Times that a duplicate key counts as a lost race, before it counts as an error of the row. */
const racesMax = 2;
/** Retries of work after an error without a known cause; after that the whole run is retried. */
const unnumberedMax = 2;

/**
 * Repeats work that the server rolled back because of other transactions. Only safe for what is one transaction or may
 * be done again; a connection that broke is never repeated here, since its outcome is unknown.
 */
export async function withConflictRetries<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      await rollBack(session);
      const isRace = isDuplicateKey(error) && attempt <= racesMax;
      if (!isRace && !mayPass(error, attempt)) throw error;
      if (!isRace) await delay(Math.random() * 20 * 2 ** attempt);
    }
  }
}

const mayPass = (error: unknown, attempt: number): boolean =>
  isConflict(error) ? attempt < attemptsMax : isUnnumbered(error) && attempt <= unnumberedMax;

/** XACT_ABORT has rolled back after most errors; of those that it passes over nothing may be left either. */
async function rollBack(session: Session): Promise<void> {
  if (session.isUsable()) await session.query('if @@trancount > 0 rollback transaction;');
}
