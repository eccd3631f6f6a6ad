import type { Calendar, Range } from './calendars.ts';

/** Seconds between two firings, on clocks that are never set back. */
export interface FiringGaps {
  readonly shortest: number;
  readonly longest: number;
}

const daySeconds = 86_400;
const firstYear = 2024;
/** Nine years from `firstYear`, which hold three leap days. */
const days = 9 * 366;

/** Whether one of the calendars fires on any day. */
export const firesEver = (calendars: readonly Calendar[]): boolean => firingDays(calendars).length > 0;

/** Gaps of calendars that fire, all at the same times of day. */
export function firingGaps(calendars: readonly Calendar[]): FiringGaps {
  const times = timesOfDay(calendars[0]);
  const first = times[0] ?? 0;
  const last = times.at(-1) ?? 0;
  const within = differences(times);
  const between = differences(firingDays(calendars)).map((gap) => gap * daySeconds - last + first);
  return { shortest: least([...within, ...between]), longest: most([...within, ...between]) };
}

function firingDays(calendars: readonly Calendar[]): readonly number[] {
  const firing: number[] = [];
  for (let day = 0; day < days; day += 1) {
    const date = new Date(Date.UTC(firstYear, 0, 1 + day));
    if (calendars.some((calendar) => isDayOf(calendar, date))) firing.push(day);
  }
  return firing;
}

/** Whether a calendar fires on the UTC day of that date. */
export const isDayOf = ({ dayOfMonth, month, dayOfWeek, year }: Calendar, date: Date): boolean =>
  holds(dayOfMonth, date.getUTCDate()) &&
  holds(month, date.getUTCMonth() + 1) &&
  holds(dayOfWeek, date.getUTCDay()) &&
  (year === null || holds(year, date.getUTCFullYear()));

export const isTimeOf = (calendar: Calendar, date: Date): boolean =>
  isDayOf(calendar, date) &&
  holds(calendar.hour, date.getUTCHours()) &&
  holds(calendar.minute, date.getUTCMinutes()) &&
  holds(calendar.second, date.getUTCSeconds());

const holds = (ranges: readonly Range[], value: number): boolean =>
  ranges.some(({ start, end, step }) => value >= start && value <= end && (value - start) % step === 0);

/** Seconds since midnight at which a calendar fires, in order. */
export function timesOfDay(calendar: Calendar | undefined): readonly number[] {
  if (!calendar) return [];
  const [hours, minutes, seconds] = [calendar.hour, calendar.minute, calendar.second].map(valuesOf);
  return (hours ?? []).flatMap((hour) =>
    (minutes ?? []).flatMap((minute) => (seconds ?? []).map((second) => hour * 3600 + minute * 60 + second)),
  );
}

const valuesOf = (ranges: readonly Range[]): readonly number[] =>
  ranges.flatMap(({ start, end, step }) =>
    Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step),
  );

const differences = (values: readonly number[]): number[] =>
  values.slice(1).map((value, index) => value - (values[index] ?? value));

// Spread into Math.min, the times of a day would be more arguments than a call takes.
const least = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0);
