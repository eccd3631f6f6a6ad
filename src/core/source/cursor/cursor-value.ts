import { textIssue } from '../../json/json-limits.ts';
import type { CursorShape } from '../../model/read-position.ts';
import { isTimeCursor } from '../../spec/schema/incremental-schema.ts';
import { plainInstant, plainInstantMs } from '../../time/plain-instant.ts';
import { offsetMinutes, timeFormat } from '../../time/time-format.ts';
import { boundedInstant, instantMax, instantMs, repeatMs, utcMs, wallTime } from '../../time/zoned-time.ts';

/** A comparable cursor value: milliseconds since 1970, an integer, or (type string only) text. */
export type CursorValue = bigint | string;

/**
 * `null` if the field is missing, of another form, or text that no position can hold (the record gate rejects its
 * record). Fractions of a millisecond are cut.
 */
export function parseCursor(raw: unknown, form: CursorShape): CursorValue | null {
  if (raw === null || raw === undefined) return null;
  switch (form.type) {
    case 'string':
      return parseText(raw);
    case 'integer':
      return parseInteger(raw);
    case 'epoch_s':
      return milliseconds(parseDecimal(raw, 1000));
    case 'epoch_ms':
      return milliseconds(parseDecimal(raw, 1));
    case 'date':
    case 'datetime':
      return typeof raw === 'string' ? milliseconds(parseTime(raw, form)) : null;
  }
}

/** Accepts the cursor's own form or, for time cursors, ISO 8601; `null` for other values. */
export function parseInitialCursor(raw: unknown, form: CursorShape): CursorValue | null {
  const own = parseCursor(raw, form);
  if (own !== null || !isTimeCursor(form.type) || typeof raw !== 'string') return own;
  return milliseconds(parseIso(raw, form.timezone ?? 'UTC'));
}

/** Clock skew between an API's servers in milliseconds: a newer version may have an older time. */
const serverSkewMs = 1000n;

/** Whether one version of a record is older than another, whichever of the API's servers wrote them. */
export function isOlder(value: CursorValue, than: CursorValue, form: CursorShape): boolean {
  const skew = isTimeCursor(form.type) ? serverSkewMs : 0n;
  const latest = latestMeaning(value, form);
  return compareCursors(typeof latest === 'string' ? latest : latest + skew, than) < 0;
}

/** Both values must come from one cursor. */
export const compareCursors = (left: CursorValue, right: CursorValue): number =>
  left < right ? -1 : left > right ? 1 : 0;

/**
 * ISO UTC with milliseconds, decimal, or the text itself. A lookback beyond the earliest instant that has a text ends
 * there, as no record is older.
 */
export const cursorText = (value: CursorValue, form: CursorShape): string =>
  typeof value === 'bigint' && isTimeCursor(form.type)
    ? new Date(boundedInstant(Number(value))).toISOString()
    : String(value);

/** `null` where {@link parseCursor} returns `null`. */
export function canonicalCursor(raw: unknown, form: CursorShape): string | null {
  const isPlain = form.type === 'datetime' && form.format === undefined && typeof raw === 'string';
  if (isPlain && plainInstant.test(raw)) return raw.length === isoLength ? raw : `${raw.slice(0, -1)}.000Z`;
  const value = parseCursor(raw, form);
  return value === null ? null : cursorText(value, form);
}

const isoLength = 24;

/** `null` for null and for text of another cursor type. */
export function cursorOfText(text: string | null, form: CursorShape): CursorValue | null {
  if (text === null || form.type === 'string') return text;
  return form.type === 'integer' ? parseInteger(text) : milliseconds(parseIso(text, 'UTC') ?? parseLongYear(text));
}

/** The latest instant that the value can mean: a local time that occurs twice was read as its earlier instant. */
export const latestMeaning = (value: CursorValue, form: CursorShape): CursorValue =>
  typeof value === 'string' ? value : value + repeatOf(value, form);

const repeatOf = (value: bigint, { type, timezone }: CursorShape): bigint =>
  timezone === undefined || !isTimeCursor(type) ? 0n : BigInt(repeatMs(Number(value), timezone));

/**
 * The bound below which no record of that instant has its value: the begin of the day where values or requests are days,
 * otherwise what the format shows of the instant.
 */
export function filterBound(value: CursorValue, form: CursorShape): CursorValue {
  if (typeof value === 'string' || !isTimeCursor(form.type)) return value;
  const isDay = form.type === 'date' || sendForm(form) === 'date';
  if (!isDay && (form.type !== 'datetime' || form.format === undefined)) return value;
  const shown = String(sendCursor(value, { ...form, sendAs: isDay ? 'date' : 'raw' }));
  const bound = milliseconds(isDay ? parseIso(shown, form.timezone ?? 'UTC') : parseTime(shown, form));
  return bound !== null && bound < value ? bound : value;
}

/**
 * Form of a lower bound in requests (`window.from`, `watermark`), rounded down as {@link filterBound}: a local time that
 * occurs twice becomes a reading before both hours. Otherwise an API that compares readings would omit records of the
 * second hour.
 */
export const sendLowerBound = (value: CursorValue, form: CursorShape): string | number =>
  sendCursor(filterBound(typeof value === 'string' ? value : value - repeatOf(value, form), form), form);

/** Always rounded down. */
export function sendCursor(value: CursorValue, form: CursorShape): string | number {
  if (typeof value === 'string') return value;
  if (!isTimeCursor(form.type)) return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  const instant = boundedInstant(Number(value));
  const zone = form.timezone ?? 'UTC';
  switch (sendForm(form)) {
    case 'date':
      return localIso(instant, zone).replace(/T.*/, '');
    case 'epoch_s':
      return Math.floor(instant / 1000);
    case 'epoch_ms':
      return instant;
    case 'format':
      return timeFormat(form.format ?? '').format(instant, zone);
    case 'local':
      return localIso(instant, zone);
    case 'iso':
      return form.timezone === undefined ? new Date(instant).toISOString() : zonedIso(instant, zone);
  }
}

type SendForm = 'iso' | 'date' | 'epoch_s' | 'epoch_ms' | 'format' | 'local';

function sendForm(form: CursorShape): SendForm {
  if (form.sendAs !== undefined && form.sendAs !== 'raw') return form.sendAs;
  if (form.type === 'epoch_s' || form.type === 'epoch_ms') return form.type;
  if (form.format !== undefined) return 'format';
  if (form.type === 'date') return 'date';
  return form.timezone === undefined ? 'iso' : 'local';
}

/**
 * Local time with its offset: an API that ignores offsets would read `Z` as local time and skip hours west of
 * Greenwich.
 */
function zonedIso(instant: number, zone: string): string {
  return (
    localIso(instant, zone) +
    timeFormat('%z')
      .format(instant, zone)
      .replace(/(\d\d)$/, ':$1')
  );
}

function localIso(instant: number, zone: string): string {
  const wall = wallTime(instant, zone);
  return new Date(utcMs(wall) ?? instant).toISOString().slice(0, -1);
}

function parseText(raw: unknown): string | null {
  if (typeof raw === 'number') return String(raw);
  return typeof raw === 'string' && raw.length <= textMax && textIssue(raw) === null ? raw : null;
}

/** In UTF-16 units; each record keeps its own. */
const textMax = 1024;

function parseInteger(raw: unknown): bigint | null {
  if (typeof raw === 'number') return Number.isSafeInteger(raw) ? BigInt(raw) : null;
  return typeof raw === 'string' && /^-?\d{1,40}$/.test(raw.trim()) ? BigInt(raw.trim()) : null;
}

function parseDecimal(raw: unknown, scale: number): number | null {
  const number = typeof raw === 'string' && /^-?\d{1,20}(\.\d{1,20})?$/.test(raw.trim()) ? Number(raw) : raw;
  return typeof number === 'number' && Number.isFinite(number) ? Math.floor(number * scale) : null;
}

const milliseconds = (value: number | null): bigint | null =>
  value !== null && Math.abs(value) <= instantMax ? BigInt(Math.floor(value)) : null;

const parseTime = (text: string, form: CursorShape): number | null =>
  form.format === undefined
    ? parseIso(text, form.timezone ?? 'UTC')
    : timeFormat(form.format).parse(text, form.timezone ?? 'UTC');

const isoPattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,12}))?)?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

function parseIso(text: string, zone: string): number | null {
  if (plainInstant.test(text)) return plainInstantMs(text);
  const match = isoPattern.exec(text.trim());
  if (!match) return null;
  const part = (index: number) => Number(match[index] ?? 0);
  const wall = {
    year: part(1),
    month: part(2),
    day: part(3),
    hour: part(4),
    minute: part(5),
    second: part(6),
    ms: Number((match[7] ?? '').padEnd(3, '0').slice(0, 3)),
  };
  if (match[8] === undefined) return instantMs(wall, zone);
  const utc = utcMs(wall);
  return utc === null ? null : utc - offsetMinutes(match[8]) * 60_000;
}

/** Instants before the year 0 or after 9999 have a sign and six digits of year. */
function parseLongYear(text: string): number | null {
  const instant = /^[+-]\d{6}-/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(instant) ? null : instant;
}
