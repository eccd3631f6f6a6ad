/** `12,345`. */
export const count = (value: number): string => value.toLocaleString('en');

/** `1 run`, `2 runs`. */
export const counted = (value: number, singular: string, plural = `${singular}s`): string =>
  `${count(value)} ${value === 1 ? singular : plural}`;

/** `120 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`: two units at most. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(ms < 10_000 ? 1 : 0))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return twoUnits([Math.floor(seconds / 60), 'min'], [seconds % 60, 's']);
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return twoUnits([Math.floor(minutes / 60), 'h'], [minutes % 60, 'min']);
  const hours = Math.round(minutes / 60);
  return twoUnits([Math.floor(hours / 24), 'd'], [hours % 24, 'h']);
}

type Amount = readonly [number, string];
const twoUnits = (large: Amount, small: Amount): string =>
  small[0] === 0 ? large.join(' ') : `${large.join(' ')} ${small.join(' ')}`;

/** `0`, `950`, `1.2k`, `3.4M`: for the few places where a chart has no room. */
export const short = (value: number): string =>
  new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(value);

/** `12.3 %`; an empty whole gives `0 %`. */
export const percent = (part: number, whole: number): string =>
  whole === 0 ? '0 %' : `${((100 * part) / whole).toLocaleString('en', { maximumFractionDigits: 1 })} %`;
