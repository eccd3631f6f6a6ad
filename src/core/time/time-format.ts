import { AppError } from '../errors.ts';
import { createTextCache } from '../work/text-cache.ts';
import { instantMs, utcMs, type WallTime, wallTime } from './zoned-time.ts';

/** A strptime-like pattern such as `%d/%m/%Y %H:%M`, ready to read and write instants. */
export interface TimeFormat {
  /** Milliseconds since 1970; null when the text does not match. */
  parse(text: string, zone: string): number | null;
  format(instant: number, zone: string): string;
}

type Fields = { -readonly [Key in keyof WallTime]?: number } & {
  pm?: boolean;
  offsetMinutes?: number;
  epochMs?: number;
};

interface Directive {
  readonly pattern: string;
  read(text: string, fields: Fields): void;
  write(wall: WallTime, instant: number, zone: string): string;
}

/**
 * What is wrong with a format, as words that follow its name: a directive that is unknown, or there twice; null when
 * nothing is. Where a number of one or two digits may come many times, there are more ways to read a text than time to
 * try them.
 */
export function timeFormatIssue(pattern: string): string | null {
  const found = partsOf(pattern).filter(isDirective);
  const unknown = found.find((part) => directives[part.slice(1)] === undefined);
  if (unknown !== undefined) {
    const known = Object.keys(directives).join(', ');
    return `has the unknown directive "${unknown}"; use %T, %F or one of: ${known}`;
  }
  const repeated = found.find((part, index) => found.indexOf(part) < index);
  return repeated === undefined ? null : `has the directive "${repeated}" twice (%T and %F stand for others)`;
}

/** Minutes east of UTC in `Z`, `+02`, `+0200` or `+02:00`. */
export function offsetMinutes(text: string): number {
  if (text.toUpperCase() === 'Z') return 0;
  const digits = text.slice(1).replace(':', '').padEnd(4, '0');
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2));
  return text.startsWith('-') ? -minutes : minutes;
}

const two = (value: number) => String(value).padStart(2, '0');
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July'].concat([
  'August',
  'September',
  'October',
  'November',
  'December',
]);
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const short = (name: string) => name.slice(0, 3);
const monthOf = (text: string) =>
  months.findIndex((name) => short(name).toLowerCase() === short(text).toLowerCase()) + 1;
const weekday = (wall: WallTime) => days[new Date(utcMs(wall) ?? 0).getUTCDay()] ?? '';

const number = (key: keyof WallTime, pattern = '\\d{1,2}', write = (wall: WallTime) => two(wall[key])): Directive => ({
  pattern,
  read: (text, fields) => {
    fields[key] = Number(text);
  },
  write,
});

const name = (pattern: string, write: (wall: WallTime) => string): Directive => ({
  pattern,
  read: (text, fields) => {
    if (monthOf(text) > 0 && pattern !== dayPattern) fields.month = monthOf(text);
  },
  write,
});

const dayPattern = days.flatMap((day) => [day, short(day)]).join('|');
const monthPattern = months.flatMap((month) => [month, short(month)]).join('|');

const directives: Readonly<Record<string, Directive>> = {
  Y: number('year', '\\d{4}', (wall) => String(wall.year).padStart(4, '0')),
  m: number('month'),
  d: number('day'),
  e: number('day', '\\s?\\d{1,2}', (wall) => String(wall.day).padStart(2, ' ')),
  H: number('hour'),
  I: number('hour', '\\d{1,2}', (wall) => two(wall.hour % 12 || 12)),
  M: number('minute'),
  S: number('second'),
  b: name(monthPattern, (wall) => short(months[wall.month - 1] ?? '')),
  B: name(monthPattern, (wall) => months[wall.month - 1] ?? ''),
  a: name(dayPattern, (wall) => short(weekday(wall))),
  A: name(dayPattern, weekday),
  y: {
    pattern: '\\d{2}',
    read: (text, fields) => {
      // POSIX: 69 to 99 are of the last century.
      fields.year = Number(text) + (Number(text) >= 69 ? 1900 : 2000);
    },
    write: (wall) => two(wall.year % 100),
  },
  f: {
    pattern: '\\d{1,9}',
    read: (text, fields) => {
      fields.ms = Number(text.padEnd(3, '0').slice(0, 3));
    },
    write: (wall) => `${String(wall.ms).padStart(3, '0')}000`,
  },
  p: {
    pattern: 'AM|PM',
    read: (text, fields) => {
      fields.pm = text.toUpperCase() === 'PM';
    },
    write: (wall) => (wall.hour < 12 ? 'AM' : 'PM'),
  },
  z: {
    pattern: 'Z|[+-]\\d{2}:?\\d{2}',
    read: (text, fields) => {
      fields.offsetMinutes = offsetMinutes(text);
    },
    write: (wall, instant) => {
      const minutes = Math.round(((utcMs(wall) ?? instant) - instant) / 60_000);
      return `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}${two(Math.abs(minutes) % 60)}`;
    },
  },
  s: {
    pattern: '-?\\d{1,15}',
    read: (text, fields) => {
      fields.epochMs = Number(text) * 1000;
    },
    write: (_wall, instant) => String(Math.floor(instant / 1000)),
  },
};

function compile(pattern: string): TimeFormat {
  const issue = timeFormatIssue(pattern);
  if (issue !== null) throw new AppError('spec_invalid', `cursor.format ${issue}.`);
  const steps = partsOf(pattern).map((part) => directives[isDirective(part) ? part.slice(1) : ''] ?? literalOf(part));
  const source = steps
    .map((step) => (typeof step === 'string' ? step.replaceAll(/[^\w\s]/g, '\\$&') : `(${step.pattern})`))
    .join('');
  const regex = new RegExp(`^${source}$`, 'i');
  const readers = steps.filter((step) => typeof step !== 'string');
  return {
    parse: (text, zone) => {
      const match = regex.exec(text.trim());
      if (!match) return null;
      const fields: Fields = {};
      for (const [index, reader] of readers.entries()) reader.read(match[index + 1] ?? '', fields);
      return instantOf(fields, zone);
    },
    format: (instant, zone) => {
      const wall = wallTime(instant, zone);
      return steps.map((step) => (typeof step === 'string' ? step : step.write(wall, instant, zone))).join('');
    },
  };
}

/** Directives, and the texts between them. */
const partsOf = (pattern: string): readonly string[] =>
  pattern
    .replaceAll('%T', '%H:%M:%S')
    .replaceAll('%F', '%Y-%m-%d')
    .match(/%.|[^%]+|%$/gsu) ?? [];

const isDirective = (part: string): boolean => part.startsWith('%') && part !== '%%';

const literalOf = (part: string): string => (part === '%%' ? '%' : part);

function instantOf(fields: Fields, zone: string): number | null {
  if (fields.epochMs !== undefined) return fields.epochMs;
  const hour = fields.pm === undefined ? (fields.hour ?? 0) : ((fields.hour ?? 0) % 12) + (fields.pm ? 12 : 0);
  const { year = 1970, month = 1, day = 1, minute = 0, second = 0, ms = 0 } = fields;
  const wall = { year, month, day, hour, minute, second, ms };
  if (fields.offsetMinutes === undefined) return instantMs(wall, zone);
  const utc = utcMs(wall);
  return utc === null ? null : utc - fields.offsetMinutes * 60_000;
}

/** The format of a spec's `cursor.format`. Throws `spec_invalid` where {@link timeFormatIssue} finds something. */
export const timeFormat: (pattern: string) => TimeFormat = createTextCache(compile, {
  textsMax: 1_000,
  charactersMax: 100_000,
});
