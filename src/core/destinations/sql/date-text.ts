import { plainInstant } from '../../time/plain-instant.ts';

const date = /^(\d{4})-(\d\d)-(\d\d)$/;
const timestamp =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,12})?)? ?(?:[Zz]|[+-](\d\d)(?::?(\d\d))?)?)?$/;

/** Why a text is not a calendar date (`2026-02-28`); `null` when it is one. */
export function dateIssue(text: string): string | null {
  const match = date.exec(text);
  if (!match) return 'is not a date (YYYY-MM-DD)';
  const [, year, month, day] = match.map(Number);
  return isDay(year, month, day) ? null : 'is not a day of the calendar';
}

/** Why a text is not an ISO 8601 date-time or date; `null` when it is one. */
export function timestampIssue(text: string): string | null {
  if (plainInstant.test(text)) return null;
  const match = timestamp.exec(text);
  if (!match) return 'is not a date-time (ISO 8601)';
  const [, day = '', hour, minute, second, offsetHour, offsetMinute] = match;
  const issue = dateIssue(day);
  if (issue !== null) return issue;
  // Seconds reach 60 (leap second); PostgreSQL's offsets end before 16 hours.
  const inRange =
    upTo(hour, 23) && upTo(minute, 59) && upTo(second, 60) && upTo(offsetHour, 15) && upTo(offsetMinute, 59);
  return inRange ? null : 'is not a valid time of day';
}

const upTo = (digits: string | undefined, max: number): boolean => digits === undefined || Number(digits) <= max;

/** Year 0 does not exist in PostgreSQL's calendar. */
function isDay(year = 0, month = 0, day = 0): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  return day <= (month === 2 && isLeap(year) ? 29 : (daysOfMonth[month - 1] ?? 0));
}

const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
