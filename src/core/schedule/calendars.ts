export interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** Fires when every field matches; Sunday is 0, January is 1, and `year` is `null` for every year. */
export interface Calendar {
  readonly second: readonly Range[];
  readonly minute: readonly Range[];
  readonly hour: readonly Range[];
  readonly dayOfMonth: readonly Range[];
  readonly month: readonly Range[];
  readonly dayOfWeek: readonly Range[];
  readonly year: readonly Range[] | null;
}

export interface CronFields {
  readonly second: readonly number[];
  readonly minute: readonly number[];
  readonly hour: readonly number[];
  readonly month: readonly number[];
  /** Days of the month, `null` if unrestricted; `last` is `L`, the last day of the month. */
  readonly dayOfMonth: { readonly days: readonly number[]; readonly last: boolean } | null;
  /**
   * Days of the week; `null` if unrestricted. `nth` of the month, 0 for all; `last` holds days as in `5L`, the last
   * such day of the month.
   */
  readonly dayOfWeek: {
    readonly days: readonly number[];
    readonly nth: number;
    readonly last: readonly number[];
  } | null;
}

type Days = Pick<Calendar, 'dayOfMonth' | 'month' | 'dayOfWeek' | 'year'>;

/**
 * Calendars whose union is the expression. If day of month and day of week are both restricted, cron means either; one
 * calendar would mean both.
 */
export function toCalendars(fields: CronFields): readonly Calendar[] {
  const times = { second: toRanges(fields.second), minute: toRanges(fields.minute), hour: toRanges(fields.hour) };
  return daysOf(fields).map((days) => ({ ...times, ...days }));
}

const everyDay: readonly Range[] = [{ start: 1, end: 31, step: 1 }];
const everyWeekday: readonly Range[] = [{ start: 0, end: 6, step: 1 }];

function daysOf({ month, dayOfMonth, dayOfWeek }: CronFields): readonly Days[] {
  const every = { dayOfMonth: everyDay, month: toRanges(month), dayOfWeek: everyWeekday, year: null };
  if (!dayOfMonth && !dayOfWeek) return [every];
  const calendars: Days[] = [];
  if (dayOfMonth && dayOfMonth.days.length > 0) calendars.push({ ...every, dayOfMonth: toRanges(dayOfMonth.days) });
  if (dayOfMonth?.last) calendars.push(...lastDays(month, { count: 1, dayOfWeek: everyWeekday }));
  if (dayOfWeek && dayOfWeek.days.length > 0) {
    const days = dayOfWeek.nth === 0 ? everyDay : week(dayOfWeek.nth);
    calendars.push({ ...every, dayOfMonth: days, dayOfWeek: toRanges(dayOfWeek.days) });
  }
  if (dayOfWeek && dayOfWeek.last.length > 0) {
    calendars.push(...lastDays(month, { count: 7, dayOfWeek: toRanges(dayOfWeek.last) }));
  }
  return calendars;
}

/** Days of a month on which a weekday occurs for the nth time. */
const week = (nth: number): readonly Range[] => [{ start: 7 * nth - 6, end: Math.min(7 * nth, 31), step: 1 }];

const monthLengths: readonly {
  readonly length: number;
  readonly months: readonly number[];
  readonly year: Days['year'];
}[] = [
  { length: 31, months: [1, 3, 5, 7, 8, 10, 12], year: null },
  { length: 30, months: [4, 6, 9, 11], year: null },
  { length: 29, months: [2], year: everyFourth(2000, 2096) },
  // 2100, the last year that Temporal knows, has no 29 February.
  { length: 28, months: [2], year: [2001, 2002, 2003].flatMap((from) => everyFourth(from, 2100)).concat(just(2100)) },
];

/** The last `count` days of each month, by month length. */
function lastDays(
  months: readonly number[],
  { count, dayOfWeek }: { readonly count: number; readonly dayOfWeek: readonly Range[] },
): readonly Days[] {
  return monthLengths.flatMap(({ length, months: ofLength, year }) => {
    const named = ofLength.filter((month) => months.includes(month));
    const dayOfMonth = [{ start: length - count + 1, end: length, step: 1 }];
    return named.length === 0 ? [] : [{ dayOfMonth, month: toRanges(named), dayOfWeek, year }];
  });
}

function everyFourth(start: number, end: number): readonly Range[] {
  return [{ start, end, step: 4 }];
}

function just(value: number): Range {
  return { start: value, end: value, step: 1 };
}

/** The values as few, ordered ranges; repeats count once. */
function toRanges(values: readonly number[]): readonly Range[] {
  const ranges: Range[] = [];
  for (const value of new Set(values.toSorted((a, b) => a - b))) {
    const last = ranges.at(-1);
    if (last && (last.start === last.end || value - last.end === last.step)) {
      ranges[ranges.length - 1] = { start: last.start, end: value, step: value - last.end };
    } else {
      ranges.push(just(value));
    }
  }
  return ranges;
}
