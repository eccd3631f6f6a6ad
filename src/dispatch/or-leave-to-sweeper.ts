import { type WorkIds, workOf } from '../core/work-ids.ts';
import type { Log } from '../log.ts';

/**
 * For a committed change. Never fails, because the row is the guarantee: an error is logged, and the sweeper notifies
 * Temporal later. `ids` stand on every line about it.
 *
 * @returns false after an error.
 */
export function orLeaveToSweeper(log: Log, ids: WorkIds, notify: () => Promise<void>): Promise<boolean> {
  return workOf(ids, async () => {
    try {
      await notify();
      return true;
    } catch (error) {
      log.warn('Temporal may not know of a change; the sweeper will try again', { error });
      return false;
    }
  });
}
