import { isAscii } from 'node:buffer';
import { AppError } from '../../errors.ts';
import { type JsonSize, jsonSize } from '../../json/json-size.ts';

/** Decoding of integers beyond 2^53 - 1: `string` keeps every digit as text, `number` rounds them. */
export type BigNumbers = 'string' | 'number';

/**
 * Integers beyond 2^53 - 1 become decimal strings unless configured otherwise; fractions and exponents stay numbers. A
 * `__proto__` key is plain own data. Too deep or non-finite values pass, to fail one record at the record gate instead
 * of the page. Throws `source_rejected`.
 */
export function decodeJson(bytes: Uint8Array, options: { readonly bigNumbers: BigNumbers }): unknown {
  const text = decodeText(bytes);
  return parse(options.bigNumbers === 'string' && mayHoldBigInteger(bytes) ? quoteBigIntegers(text) : text);
}

/** A page may have 100,000 records, and short texts take half a second per million. */
const valuesMax = 3_000_000;
/** Each distinct name takes 0.8 µs and 130 bytes, as no other object has its form. */
const namesMax = 500_000;

/**
 * Counts without parsing; throws `source_rejected` above `max` values or the limit of names, as parsing would block the
 * thread for seconds.
 */
export function measureJson(bytes: Uint8Array, max = valuesMax): JsonSize {
  const size = jsonSize(bytes);
  if (size.values > max) throw tooMany(`${max} values, lists and objects among them`);
  if (size.names > namesMax) throw tooMany(`${namesMax} different names`);
  return size;
}

const tooMany = (what: string): AppError =>
  new AppError('source_rejected', `The response body has more than ${what}. Ask for smaller pages.`);

const digitsMin = 16;

/** Checks every 16th byte; a match inside a string only means the slower way. */
function mayHoldBigInteger(bytes: Uint8Array): boolean {
  for (let at = digitsMin - 1; at < bytes.length; at += digitsMin) {
    if (!isDigit(bytes[at])) continue;
    let start = at;
    while (isDigit(bytes[start - 1])) start -= 1;
    while (isDigit(bytes[at + 1])) at += 1;
    if (at - start + 1 >= digitsMin) return true;
  }
  return false;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** A whole integer of at least 16 digits, not part of a fraction or exponent and not in the place of a key. */
const bigInteger = /(?<![\d.eE+-])-?[1-9]\d{15,}(?![\d.eE])(?!\s*:)/g;

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeText(bytes: Uint8Array): string {
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new AppError(
      'source_rejected',
      'The response body is not valid UTF-8. Check that the API sends JSON in UTF-8, or choose another decoder.',
      { cause },
    );
  }
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch (cause) {
    const what = text.trim() === '' ? 'empty' : 'not valid JSON';
    throw new AppError(
      'source_rejected',
      `The response body is ${what}. Check the URL and the decoder of this resource.`,
      {
        cause,
      },
    );
  }
}

/**
 * Changes only numbers outside strings, and copies only changed parts, as a body may have millions of strings. A
 * reviver for JSON.parse is slower and overflows the stack on deep input.
 */
function quoteBigIntegers(text: string): string {
  const parts: string[] = [];
  let copied = 0;
  for (let position = 0; position < text.length; ) {
    const open = text.indexOf('"', position);
    const end = open === -1 ? text.length : open;
    if (end - position >= digitsMin) {
      const between = text.slice(position, end);
      const quoted = between.replace(bigInteger, quoteUnsafe);
      if (quoted !== between) {
        parts.push(text.slice(copied, position), quoted);
        copied = end;
      }
    }
    position = open === -1 ? end : endOfString(text, open);
  }
  return parts.join('') + text.slice(copied);
}

function quoteUnsafe(digits: string): string {
  return Number.isSafeInteger(Number(digits)) ? digits : `"${digits}"`;
}

function endOfString(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  while (close !== -1 && isEscaped(text, close)) close = text.indexOf('"', close + 1);
  return close === -1 ? text.length : close + 1;
}

function isEscaped(text: string, position: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(position - 1 - backslashes) === 0x5c) backslashes += 1;
  return backslashes % 2 === 1;
}
