/** Directives of `strftime` as parts of a JSONata picture; times are UTC. */
const pictures: Readonly<Record<string, string>> = {
  Y: '[Y0001]',
  m: '[M01]',
  d: '[D01]',
  H: '[H01]',
  M: '[m01]',
  S: '[s01]',
  f: '[f001]000',
  _ms: '[f001]',
  y: '[Y01]',
  b: '[MNn,3-3]',
  B: '[MNn]',
  a: '[FNn,3-3]',
  A: '[FNn]',
  I: '[h01]',
  p: '[PN]',
  j: '[d001]',
  z: '+0000',
  Z: 'UTC',
  T: '[H01]:[m01]:[s01]',
  F: '[Y0001]-[M01]-[D01]',
  '-d': '[D]',
  '-m': '[M]',
  '-H': '[H]',
  '%': '%',
};

/** JSONata that writes an instant in a format of Python's `strftime` or of the CDK; `null` if it has no counterpart. */
export function formatTime(ms: string, format: string): string | null {
  if (format === '%s') return `$string($floor(${ms} / 1000))`;
  if (format === '%ms') return `$string(${ms})`;
  if (format === '%epoch_microseconds') return `$string(${ms} * 1000)`;
  if (format === '%s_as_float') return `$string(${ms} / 1000)`;
  if (format === '%Y-%m-%dT%H:%M:%S.%_msZ') return `$fromMillis(${ms})`;
  const picture = pictureOf(format);
  return picture === null ? null : `$fromMillis(${ms}, ${JSON.stringify(picture)})`;
}

function pictureOf(format: string): string | null {
  let picture = '';
  for (const [, directive, text] of format.matchAll(/%(_ms|-[dmH]|[^])|([^%]+)/g)) {
    if (text !== undefined) picture += text.replaceAll('[', '[[').replaceAll(']', ']]');
    else {
      const part = pictures[directive ?? ''];
      if (part === undefined) return null;
      picture += part;
    }
  }
  return picture;
}

/** Formats whose texts are ISO 8601, of any precision and offset. */
export const isIso = (format: string): boolean =>
  /^(?:%Y-%m-%d|%F)(?:[T ](?:%H:%M(?::%S)?|%T)(?:\.(?:%f|%_ms|0+))?(?:Z|%z|%Z|[+-]00:?00)?)?$/.test(format);

/** JSONata for the milliseconds of an ISO 8601 text, in UTC where it names no offset. */
export const readIso = (code: string): string =>
  `($t := $replace(${code}, " ", "T"); $toMillis($contains($t, "T") and $contains($t, /(Z|[+-][0-9]{2}:?[0-9]{2})$/) = false ? $t & "Z" : $t))`;

/** JSONata for the milliseconds of a value of a format; `null` if it cannot be read. */
export function readTime(code: string, format: string): string | null {
  if (format === '%s' || format === '%s_as_float') return `($number(${code}) * 1000)`;
  if (format === '%ms') return `$number(${code})`;
  if (format === '%epoch_microseconds') return `$floor($number(${code}) / 1000)`;
  if (isIso(format)) return readIso(code);
  if (/%[_baABpIjzZf]/.test(format)) return null;
  const picture = pictureOf(format);
  return picture === null ? null : `$toMillis(${code}, ${JSON.stringify(picture)})`;
}
