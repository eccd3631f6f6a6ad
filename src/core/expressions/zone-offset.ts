import { resolveTimezone } from '../schedule/timezone.ts';

/** Zones whose offsets are kept; the evaluating process may load no package, so it has no LRU cache. */
const zonesMax = 100;

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * `$zoneOffset(millis, zone)`: the offset of an IANA time zone from UTC at a time, as `+0200`, the third argument of
 * `$fromMillis`. `undefined` without a time. Throws for an invalid or missing zone: a time in UTC would look right.
 */
export function zoneOffset(millis: unknown, zone: unknown): string | undefined {
  if (millis === undefined) return undefined;
  if (typeof millis !== 'number' || Number.isNaN(new Date(millis).getTime()))
    throw new Error('$zoneOffset takes a time in milliseconds');
  const parts = formatOf(zone).formatToParts(millis);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign = '+', hours = '00', minutes = '00'] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
  return `${sign}${hours}${minutes}`;
}

function formatOf(zone: unknown): Intl.DateTimeFormat {
  if (typeof zone !== 'string') throw noZone();
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const timeZone = resolveTimezone(zone);
  if (timeZone === null) throw noZone();
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  if (formats.size >= zonesMax) formats.clear();
  formats.set(zone, format);
  return format;
}

const noZone = (): Error => new Error('$zoneOffset takes the name of a time zone, such as "Europe/Berlin"');
