import type { Log, LogFields } from '../log.ts';

/**
 * Tells Temporal of something that is committed. Never fails: the row is the guarantee, so an error is logged with
 * `fields` and the sweeper tells Temporal later.
 */
export async function orLeaveToSweeper(log: Log, fields: LogFields, tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    log.warn('Temporal unreachable; the sweeper will try again', { ...fields, error });
  }
}
