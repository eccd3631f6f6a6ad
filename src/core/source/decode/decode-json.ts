import { isAscii } from 'node:buffer';
import { AppError } from '../../errors.ts';

/** How integers beyond 2^53 - 1 are decoded: `string` keeps every digit as text, `number` rounds them. */
export type BigNumbers = 'string' | 'number';

/**
 * The JSON value of a response body. Integers beyond 2^53 - 1 become decimal strings unless configured otherwise;
 * fractions and exponents stay numbers. A `__proto__` key is plain own data. Too deep or non-finite values pass: they
 * fail one record at the record gate, not the page. Throws `AppError` `source_rejected`.
 */
export function decodeJson(bytes: Uint8Array, options: { readonly bigNumbers: BigNumbers }): unknown {
  const text = decodeText(bytes);
  return parse(options.bigNumbers === 'string' && mayHoldBigInteger(bytes) ? quoteBigIntegers(text) : text);
}

/** Values of one page, as many as the fields of a CSV: each takes up to 100 bytes of memory, however short it is. */
const valuesMax = 5_000_000;

/** Bytes of a body that cannot have so many values that it matters. */
const smallBytes = 8_388_608;

/** Refuses a body of so many values that reading it takes seconds and gigabytes. Throws `source_rejected`. */
export function checkValues(bytes: Uint8Array): void {
  if (bytes.length <= smallBytes) return;
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === 0x22) at = closingQuote(bytes, at);
    else if (byte === 0x2c || byte === 0x5b || byte === 0x7b) values += 1;
  }
  if (values <= valuesMax) return;
  const what = `The response body has more than ${valuesMax} values, lists and objects among them.`;
  throw new AppError('source_rejected', `${what} Ask for smaller pages.`);
}

function closingQuote(bytes: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < bytes.length && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1;
  return at;
}

const digitsMin = 16;

/** Whether there are 16 digits in a row, even in a string: that only means the slower way. Checks every 16th byte. */
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

/** A whole integer of at least 16 digits, neither part of a fraction or exponent nor standing in a key's place. */
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
 * Outside strings only. Not JSON.parse with a reviver: that is slower and overflows the stack on deep input. Only what is
 * changed becomes a part: a body may have millions of strings.
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

/** Index after the closing quote of the string that opens at `open`; the text's length when it never closes. */
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
