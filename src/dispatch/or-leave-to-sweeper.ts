import type { Log, LogFields } from '../log.ts';

/**
 * For a committed change. Never fails, because the row is the guarantee: an error is logged with `fields`, and the sweeper
 * notifies Temporal later.
 *
 * @returns false after an error.
 */
export async function orLeaveToSweeper(log: Log, fields: LogFields, notify: () => Promise<void>): Promise<boolean> {
  try {
    await notify();
    return true;
  } catch (error) {
    log.warn('Temporal may not know of a change; the sweeper will try again', { ...fields, error });
    return false;
  }
}
