import { utcMs, wallTime } from '../time/zoned-time.ts';
import { createTextCache } from '../work/text-cache.ts';
import { checkCron } from './cron.ts';
import { isTimeOf } from './firing-gaps.ts';
import { resolveTimezone } from './timezone.ts';

interface Schedule {
  readonly cron: string;
  readonly timezone: string;
}

/** Every firing asks, and many schedules share an expression. */
const calendarsOf = createTextCache((cron) => checkCron(cron).calendars, { textsMax: 1000, charactersMax: 100_000 });

const hourMs = 3_600_000;

/**
 * Whether a schedule fires at a time in ms since 1970; false for an invalid schedule. As in Temporal, a time in a
 * skipped hour never fires, and one in a repeated hour fires twice. Temporal has its own zone database, and either may
 * lag behind a change of clocks; so an hour more or less also counts.
 */
export function firesAt({ cron, timezone }: Schedule, timeMs: number): boolean {
  const calendars = calendarsOf(cron);
  const zone = resolveTimezone(timezone);
  if (!calendars || zone === null || timeMs % 1000 !== 0) return false;
  const shown = utcMs(wallTime(timeMs, zone)) ?? timeMs;
  const readings = zone === 'UTC' ? [shown] : [shown, shown - hourMs, shown + hourMs];
  return readings.some((reading) => calendars.some((calendar) => isTimeOf(calendar, new Date(reading))));
}
