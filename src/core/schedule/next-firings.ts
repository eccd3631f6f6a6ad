import { instantMs, repeatMs, utcMs, wallTime } from '../time/zoned-time.ts';
import { checkCron } from './cron.ts';
import { isDayOf, timesOfDay } from './firing-gaps.ts';
import { resolveTimezone } from './timezone.ts';

const dayMs = 86_400_000;
/** 29 February may be 8 years away. */
const daysMax = 9 * 366;
/** No clock is set back further. */
const putBackMs = 3 * 3_600_000;

interface Schedule {
  readonly cron: string;
  readonly timezone: string;
}

/**
 * Next firings of a schedule after a point in time, ISO 8601 in UTC; none for an invalid schedule. As in Temporal,
 * nothing fires in a skipped hour, and firings in a repeated hour occur twice.
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

/** Instants at which a clock of the zone shows a reading, given as if in UTC: none, one or two. */
function instantsOf(wall: number, zone: string): readonly number[] {
  const first = instantMs(wallTime(wall, 'UTC'), zone);
  if (first === null || utcMs(wallTime(first, zone)) !== wall) return [];
  const again = repeatMs(first, zone);
  return again > 0 ? [first, first + again] : [first];
}

const wallOffset = (instant: number, zone: string): number => (utcMs(wallTime(instant, zone)) ?? instant) - instant;
