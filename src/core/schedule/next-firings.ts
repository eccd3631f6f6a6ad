import { instantMs, repeatMs, utcMs, wallTime } from '../time/zoned-time.ts';
import { checkCron } from './cron.ts';
import { isDayOf, timesOfDay } from './firing-gaps.ts';
import { resolveTimezone } from './timezone.ts';

const dayMs = 86_400_000;
/** 29 February may be 8 years away. */
const daysMax = 9 * 366;
/** No clock is put back further. */
const putBackMs = 3 * 3_600_000;

interface Schedule {
  readonly cron: string;
  readonly timezone: string;
}

/**
 * The next times at which a schedule fires after a point in time, ISO 8601 in UTC; none when the schedule is not valid. As
 * Temporal does it: nothing fires in an hour that the zone skips, and what lies in an hour that it repeats fires twice.
 */
export function nextFirings(
  { cron, timezone }: Schedule,
  { afterMs, count }: { readonly afterMs: number; readonly count: number },
): readonly string[] {
  const { calendars } = checkCron(cron);
  const zone = resolveTimezone(timezone);
  if (!calendars || zone === null) return [];
  const start = utcMs(wallTime(afterMs, zone)) ?? afterMs;
  const isPutBack = wallOffset(afterMs - dayMs, zone) > wallOffset(afterMs + dayMs, zone);
  const from = isPutBack ? start - putBackMs : start;
  const firings: number[] = [];
  const times = timesOfDay(calendars[0]);
  const firstDay = Math.floor(from / dayMs) * dayMs;
  for (let day = firstDay; day < firstDay + daysMax * dayMs && firings.length < count; day += dayMs) {
    if (!calendars.some((calendar) => isDayOf(calendar, new Date(day)))) continue;
    for (const seconds of times) {
      const wall = day + seconds * 1000;
      if (wall < from) continue;
      firings.push(...instantsOf(wall, zone).filter((instant) => instant > afterMs));
      if (firings.length >= count) break;
    }
  }
  return firings
    .toSorted((a, b) => a - b)
    .slice(0, count)
    .map((instant) => new Date(instant).toISOString());
}

/** When a clock of the zone shows a reading, given as if it were in UTC: never, once or twice. */
function instantsOf(wall: number, zone: string): readonly number[] {
  const first = instantMs(wallTime(wall, 'UTC'), zone);
  if (first === null || utcMs(wallTime(first, zone)) !== wall) return [];
  const again = repeatMs(first, zone);
  return again > 0 ? [first, first + again] : [first];
}

const wallOffset = (instant: number, zone: string): number => (utcMs(wallTime(instant, zone)) ?? instant) - instant;
