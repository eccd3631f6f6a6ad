import type { Log, LogFields } from '../log.ts';

/**
 * Notifies Temporal of something that is committed. Never fails: the row is the guarantee, so an error is logged with
 * `fields` and the sweeper notifies Temporal later.
 */
export async function orLeaveToSweeper(log: Log, fields: LogFields, notify: () => Promise<void>): Promise<void> {
  try {
    await notify();
  } catch (error) {
    log.warn('Temporal unreachable; the sweeper will try again', { ...fields, error });
  }
}
