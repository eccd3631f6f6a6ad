import { createTextCache } from '../work/text-cache.ts';

const dayMs = 86_400_000;
/** The first instant of `Date` is as far from 1970 as the last (ECMA-262): what is beyond has no ISO form. */
export const instantMax = 8.64e15;

/** The instant, or the first or last one of `Date` where it is beyond. */
export const boundedInstant = (ms: number): number => Math.min(Math.max(ms, -instantMax), instantMax);

/** Where offsets are looked up: before, every clock shows its local mean time; beyond, nobody knows. */
const [zonesFrom, zonesTo] = [Date.UTC(1000, 0, 1), Date.UTC(9999, 0, 1)];

/** A wall-clock reading, without a zone. Months and days count from 1. */
export interface WallTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly ms: number;
}

/** Milliseconds since 1970 of a wall time in UTC; null when there is no such day or time. Second 60 is the next minute. */
export function utcMs(wall: WallTime): number | null {
  if (wall.hour > 23 || wall.minute > 59 || wall.second > 60) return null;
  const date = new Date(0);
  date.setUTCFullYear(wall.year, wall.month - 1, wall.day);
  if (date.getUTCMonth() !== wall.month - 1 || date.getUTCDate() !== wall.day) return null;
  return date.setUTCHours(wall.hour, wall.minute, wall.second, wall.ms);
}

/**
 * Milliseconds since 1970 of a wall time in an IANA zone; null when there is no such day or time.
 *
 * A reading that a clock shows twice (or never) becomes the earlier candidate: a watermark that is too low
 * reads a record again, one that is too high loses it.
 */
export function instantMs(wall: WallTime, zone: string): number | null {
  const local = utcMs(wall);
  if (local === null || zone === 'UTC') return local;
  const candidates = [local - offsetMs(local - dayMs, zone), local - offsetMs(local + dayMs, zone)];
  const exact = candidates.filter((instant) => instant + offsetMs(instant, zone) === local);
  return Math.min(...(exact.length > 0 ? exact : candidates));
}

/**
 * Milliseconds until a clock in the zone shows the reading of the instant a second time, because it is put back before;
 * 0: it never does.
 */
export function repeatMs(instant: number, zone: string): number {
  const back = offsetMs(instant, zone) - offsetMs(instant + dayMs, zone);
  return back > 0 && offsetMs(instant + back, zone) === offsetMs(instant + dayMs, zone) ? back : 0;
}

/** What a clock in the zone shows at the instant. */
export function wallTime(instant: number, zone: string): WallTime {
  const shifted = new Date(boundedInstant(instant + offsetMs(instant, zone)));
  return {
    year: shifted.getUTCFullYear(),
    month: shifted.getUTCMonth() + 1,
    day: shifted.getUTCDate(),
    hour: shifted.getUTCHours(),
    minute: shifted.getUTCMinutes(),
    second: shifted.getUTCSeconds(),
    ms: shifted.getUTCMilliseconds(),
  };
}

/** Milliseconds to add to UTC at that instant; throws a RangeError for an unknown zone. */
function offsetMs(instant: number, zone: string): number {
  if (zone === 'UTC') return 0;
  const known = Math.min(Math.max(instant, zonesFrom), zonesTo);
  const parts = new Map(
    formatFor(zone)
      .formatToParts(known)
      .map((part) => [part.type, Number(part.value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return local - Math.floor(known / 1000) * 1000;
}

/** Case does not tell zones apart. */
const formatFor = (zone: string): Intl.DateTimeFormat => formatOf(zone.toLowerCase());

const formatOf = createTextCache(
  (timeZone) =>
    new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      calendar: 'iso8601',
      numberingSystem: 'latn',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }),
  { textsMax: 100, charactersMax: 10_000 },
);
