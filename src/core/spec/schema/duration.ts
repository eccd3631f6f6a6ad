import * as v from 'valibot';

const grammar = /^P(?:(\d{1,9})W|(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,3})?)S)?)?)$/;
/** 100 years: anything earlier counts as the beginning of time, and milliseconds stay exact. */
const longestMs = 36_525 * 86_400_000;
const unitsMs = [7 * 86_400_000, 86_400_000, 3_600_000, 60_000, 1000];

/**
 * Milliseconds of an ISO 8601 duration such as `P30D` or `PT1.5S`; `null` if it is invalid or longer than 100 years.
 * Years and months are invalid because their length varies.
 */
export function durationMs(text: string): number | null {
  const parts = grammar.exec(text)?.slice(1);
  if (!parts || text.endsWith('T') || parts.every((part) => part === undefined)) return null;
  const ms = Math.round(parts.reduce((sum, part, unit) => sum + Number(part ?? 0) * (unitsMs[unit] ?? 0), 0));
  return ms <= longestMs ? ms : null;
}

export const Duration = v.pipe(
  v.string(),
  v.check(
    (text) => durationMs(text) !== null,
    'expected an ISO 8601 duration of at most 100 years, without years and months, such as P30D or PT90S',
  ),
  v.metadata({
    title: 'duration',
    pattern: String.raw`^P(?!$)(?:\d{1,9}W|(?:\d{1,9}D)?(?:T(?!$)(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}(?:\.\d{1,3})?S)?)?)$`,
  }),
);
