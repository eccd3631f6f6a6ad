import { checkCron } from './cron.ts';
import { firingGaps } from './firing-gaps.ts';

/** Longest gap between two firings; throws for an invalid expression, so check it first. */
export function longestGapSeconds(cron: string): number {
  const { calendars, issue } = checkCron(cron);
  if (!calendars) throw new Error(`An accepted cron expression is no longer valid: ${issue}`);
  return firingGaps(calendars).longest;
}
