import { checkCron } from './cron.ts';
import { firingGaps } from './firing-gaps.ts';

/**
 * The longest time between two firings of a cron expression in seconds. Throws when it is not valid: check it first.
 */
export function longestGapSeconds(cron: string): number {
  const { calendars, issue } = checkCron(cron);
  if (!calendars) throw new Error(`An accepted cron expression is no longer valid: ${issue}`);
  return firingGaps(calendars).longest;
}
