import { charge, chargeText, type Evaluation, fail, handBack } from './evaluation.ts';
import { type Native, native, ofText } from './native.ts';
import { isList } from './sequence.ts';
import { textOf } from './values.ts';

/** Functions that take a pattern take only texts here, as a regular expression is never compiled. */
export const textFunctions: Readonly<Record<string, Native>> = {
  string: native('<x-b?:s>', ([value, pretty], evaluation) =>
    value === undefined ? undefined : textOf(value, evaluation, pretty === true ? 2 : 0),
  ),
  lowercase: ofText((text, evaluation) => counted(text.toLowerCase(), evaluation)),
  uppercase: ofText((text, evaluation) => counted(text.toUpperCase(), evaluation)),
  trim: ofText(trim),
  length: ofText((text, evaluation) => lengthOf(text, evaluation)),
  substring: native('<s-nn?:s>', ([text, start, length], evaluation) =>
    typeof text === 'string' ? substring(text, { start, length, evaluation }) : undefined,
  ),
  substringBefore: native('<s-s:s>', ([text, mark], evaluation) => {
    if (typeof text !== 'string') return undefined;
    const at = indexOf(text, mark, evaluation);
    return at === -1 ? text : text.slice(0, at);
  }),
  substringAfter: native('<s-s:s>', ([text, mark], evaluation) => {
    if (typeof text !== 'string') return undefined;
    const at = indexOf(text, mark, evaluation);
    return at === -1 || typeof mark !== 'string' ? text : text.slice(at + mark.length);
  }),
  contains: native('<s-(sf):b>', ([text, mark], evaluation) =>
    typeof text === 'string' && typeof mark === 'string' ? indexOf(text, mark, evaluation) !== -1 : undefined,
  ),
  pad: native('<s-ns?:s>', ([text, width, filler], evaluation) =>
    typeof text === 'string' ? pad(text, { width, filler, evaluation }) : undefined,
  ),
  split: native('<s-(sf)n?:a<s>>', ([text, separator, limit], evaluation) =>
    typeof text === 'string' ? split(text, { separator, limit, evaluation }) : undefined,
  ),
  join: native('<a<s>s?:s>', ([texts, separator], evaluation) => {
    if (!isList(texts)) return undefined;
    const between = typeof separator === 'string' ? separator : '';
    charge(evaluation, texts.length);
    for (const text of texts) chargeText(evaluation, String(text).length + between.length);
    return texts.join(between);
  }),
  replace: native('<s-(sf)(sf)n?:s>', ([text, wanted, replacement, limit], evaluation) =>
    typeof text === 'string' ? replace(text, { wanted, replacement, limit, evaluation }) : undefined,
  ),
  base64encode: ofText((text, evaluation) => Buffer.from(counted(text, evaluation), 'latin1').toString('base64')),
  base64decode: ofText((text, evaluation) => Buffer.from(counted(text, evaluation), 'base64').toString('latin1')),
  encodeUrlComponent: ofText((text, evaluation) => urlText(encodeURIComponent, counted(text, evaluation))),
  encodeUrl: ofText((text, evaluation) => urlText(encodeURI, counted(text, evaluation))),
  decodeUrlComponent: ofText((text, evaluation) => urlText(decodeURIComponent, counted(text, evaluation))),
  decodeUrl: ofText((text, evaluation) => urlText(decodeURI, counted(text, evaluation))),
};

function counted(text: string, evaluation: Evaluation): string {
  chargeText(evaluation, text.length);
  return text;
}

const looseSpace = /^ | $|[\t\n\r]| {2}/;

function trim(text: string, evaluation: Evaluation): string {
  if (!looseSpace.test(counted(text, evaluation))) return text;
  const spaced = counted(text, evaluation).replace(/[ \t\n\r]+/g, ' ');
  return spaced.slice(spaced.startsWith(' ') ? 1 : 0, spaced.length > 1 && spaced.endsWith(' ') ? -1 : undefined);
}

const halves = /[\ud800-\udfff]/;

/** Unicode characters, not UTF-16 units. */
function lengthOf(text: string, evaluation: Evaluation): number {
  if (!halves.test(counted(text, evaluation))) return text.length;
  charge(evaluation, text.length);
  return Array.from(text).length;
}

interface Part {
  readonly start: unknown;
  readonly length: unknown;
  readonly evaluation: Evaluation;
}

function substring(text: string, { start, length, evaluation }: Part): string {
  const size = lengthOf(text, evaluation);
  // A missing start is not zero: with a length it selects nothing.
  const given = typeof start === 'number' ? start : Number.NaN;
  const from = size + given < 0 ? 0 : given;
  if (typeof length !== 'number') return slice(text, { size, from });
  return length <= 0 ? '' : slice(text, { size, from, to: from >= 0 ? from + length : size + from + length });
}

/** `slice` by characters, which are UTF-16 units where none is beyond 16 bits. */
function slice(text: string, part: { readonly size: number; readonly from: number; readonly to?: number }): string {
  const { size, from, to } = part;
  return size === text.length ? text.slice(from, to) : Array.from(text).slice(from, to).join('');
}

/** JavaScript turns a missing mark into a word; a text that contains this word is handed back. */
function indexOf(text: string, mark: unknown, evaluation: Evaluation): number {
  const at = counted(text, evaluation).indexOf(String(mark));
  return at === -1 || typeof mark === 'string' ? at : handBack();
}

interface Padding {
  readonly width: unknown;
  readonly filler: unknown;
  readonly evaluation: Evaluation;
}

function pad(text: string, { width, filler, evaluation }: Padding): string {
  const unit = typeof filler === 'string' && filler !== '' ? filler : ' ';
  const wanted = typeof width === 'number' ? Math.trunc(width) : Number.NaN;
  const missing = Math.abs(wanted) - lengthOf(text, evaluation);
  if (!(missing > 0)) return text;
  chargeText(evaluation, missing * unit.length);
  const repeated = unit.repeat(missing);
  const padding = unit.length > 1 ? substring(repeated, { start: 0, length: missing, evaluation }) : repeated;
  return wanted > 0 ? text + padding : padding + text;
}

interface Splitting {
  readonly separator: unknown;
  readonly limit: unknown;
  readonly evaluation: Evaluation;
}

function split(text: string, { separator, limit, evaluation }: Splitting): readonly string[] {
  const most = typeof limit === 'number' ? limit : undefined;
  if (most !== undefined && most < 0) return fail('D3020');
  if (most !== undefined && !(most > 0)) return [];
  if (typeof separator !== 'string') return handBack();
  // Each character may become a text of its own.
  charge(evaluation, separator === '' ? text.length : 1 + (text.length >>> 2));
  return text.split(separator, most);
}

interface Replacing {
  readonly wanted: unknown;
  readonly replacement: unknown;
  readonly limit: unknown;
  readonly evaluation: Evaluation;
}

function replace(text: string, { wanted, replacement, limit, evaluation }: Replacing): string {
  if (wanted === '') return fail('D3010');
  const most = typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY;
  if (most < 0) return fail('D3011');
  if (most === 0) return text;
  if (typeof wanted !== 'string') return handBack();
  const substitute = String(replacement);
  let result = '';
  let position = 0;
  let count = 0;
  let at = counted(text, evaluation).indexOf(wanted);
  while (at !== -1 && count < most) {
    chargeText(evaluation, at - position + substitute.length);
    result += text.slice(position, at) + substitute;
    position = at + wanted.length;
    count += 1;
    at = text.indexOf(wanted, position);
  }
  return result + text.slice(position);
}

function urlText(convert: (text: string) => string, text: string): string {
  try {
    return convert(text);
  } catch {
    return fail('D3140');
  }
}
