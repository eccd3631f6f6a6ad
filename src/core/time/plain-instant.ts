/** As the calendar has them, so that whatever matches is a real day. */
const monthDays = {
  /** Of every month. */
  common: '(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])',
  afterFebruary: '(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31',
  leap: '02-29',
} as const;
const year = '[1-9]\\d{3}';
const fours = '0[48]|[2468][048]|[13579][26]';
const leapYear = `(?:[1-9]\\d(?:${fours})|(?:[2468][048]|[13579][26])00)`;

/** A day of the years 1000 to 9999 as ISO writes it: the source of an expression. */
export const calendarDay = `(?:${year}-(?:${monthDays.common}|${monthDays.afterFebruary})|${leapYear}-${monthDays.leap})`;
/** Hour and minute. */
export const clockTime = '(?:[01]\\d|2[0-3]):[0-5]\\d';

/**
 * A UTC time as nearly every API writes it: `2026-02-28T23:59:59Z`, with three decimals or none, of the years 1000 to 9999.
 * Every match is a real instant that `Date.parse` reads. What matches needs no closer look, which takes several times as
 * long, and a column of nothing else goes to PostgreSQL in binary.
 */
export const plainInstant = new RegExp(`^${calendarDay}T${clockTime}:[0-5]\\d(?:\\.\\d{3})?Z$`);

/** Milliseconds since 1970 of a text that {@link plainInstant} matches: a fifth of the time that `Date.parse` takes. */
export function plainInstantMs(text: string): number {
  const month = digits(text, 5);
  // Years begin in March, so that leap days end them.
  const marchYear = digits(text, 0) * 100 + digits(text, 2) - (month > 2 ? 0 : 1);
  const marchMonth = month > 2 ? month - 3 : month + 9;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  const days = 365 * marchYear + leapDays + Math.floor((153 * marchMonth + 2) / 5) + digits(text, 8) - epochDay;
  const minutes = (days * 24 + digits(text, 11)) * 60 + digits(text, 14);
  const ms = text.length === plainLength ? 0 : digits(text, 20) * 10 + text.charCodeAt(22) - zero;
  return (minutes * 60 + digits(text, 17)) * 1000 + ms;
}

/** Of an instant without decimals. */
const plainLength = 20;
/** 1970-01-01, in days counted from March of the year 0, the first being 1. */
const epochDay = 719_469;
const zero = 0x30;

const digits = (text: string, at: number): number => (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero;
