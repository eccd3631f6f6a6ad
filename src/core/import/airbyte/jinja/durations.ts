/** An ISO 8601 duration. Months and years are separate, because their length depends on the date. */
export interface IsoDuration {
  readonly months: number;
  readonly ms: number;
}

const grammar =
  /^([+-])?P(?:(\d+(?:\.\d+)?)Y)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;

export function parseDuration(text: string): IsoDuration | null {
  const match = grammar.exec(text.trim());
  if (match === null || /[PT]$/.test(text.trim())) return null;
  const [, sign, ...rest] = match;
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = rest.map((part) =>
    Number(part ?? 0),
  );
  const factor = sign === '-' ? -1 : 1;
  const ms = (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000;
  return { months: factor * (years * 12 + months), ms: factor * ms };
}

/** The duration in days and seconds, with months and years of the given days. */
export function durationText(
  { months, ms }: IsoDuration,
  monthDays: { readonly month: number; readonly year: number },
): string {
  const years = Math.floor(months / 12);
  const total = ms + (years * monthDays.year + (months % 12) * monthDays.month) * 86_400_000;
  const days = Math.floor(total / 86_400_000);
  const seconds = (total % 86_400_000) / 1000;
  const time = seconds === 0 ? '' : `T${Number(seconds.toFixed(3))}S`;
  return days === 0 && time === '' ? 'PT0S' : `P${days === 0 ? '' : `${days}D`}${time}`;
}

/** JSONata that moves an instant by a duration; months follow the calendar, as in `dateutil` and `isodate`. */
export function moveTime(ms: string, { months, ms: length }: IsoDuration, sign: 1 | -1): string {
  const moved = (base: string, by: number): string =>
    by === 0 ? base : `(${base} ${by < 0 ? '-' : '+'} ${Math.abs(by)})`;
  if (months === 0) return moved(ms, sign * length);
  const first = (offset: string): string =>
    `$toMillis($formatNumber($floor(${offset} / 12), "0000") & "-" & $formatNumber(${offset} % 12 + 1, "00") & "-01")`;
  const code = [
    `($i := ${ms}`,
    `$n := $number($fromMillis($i, "[Y]")) * 12 + $number($fromMillis($i, "[M]")) - 1 ${sign * months < 0 ? '-' : '+'} ${Math.abs(months)}`,
    `$a := ${first('$n')}`,
    `$d := (${first('($n + 1)')} - $a) / 86400000`,
    '$a + ($min([$number($fromMillis($i, "[D]")), $d]) - 1) * 86400000 + $i % 86400000)',
  ].join('; ');
  return moved(code, sign * length);
}
