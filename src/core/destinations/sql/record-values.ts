/** The reason never repeats the value. */
export interface Misfit {
  readonly misfit: string;
}

/**
 * The server casts a text to the type of the column, which keeps integers beyond 2^53 and decimals exact. Some kinds of
 * destination send a number as it is.
 */
export type Cell = string | number;

export type ToCell = (value: unknown) => Cell | null | Misfit;

export type ToText = (value: unknown) => string | null | Misfit;

export type ValueText = (value: unknown) => string | Misfit;

export const nullable =
  (convert: ValueText): ToText =>
  (value) =>
    value === null || value === undefined ? null : convert(value);

const uuidPattern = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const integerPattern = /^[+-]?\d{1,40}$/;
const decimalPattern = /^[+-]?(\d{1,1000}(\.\d{0,1000})?|\.\d{1,1000})([eE][+-]?\d{1,3})?$/;

export function scalarText(value: unknown): string | Misfit {
  if (typeof value === 'string') return storable(value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : misfit(value, 'a text');
}

/** Bounds are inclusive. */
export const integerText = (min: bigint, max: bigint) => {
  const holdsSafeIntegers = max > 2n ** 53n;
  return (value: unknown) => {
    if (holdsSafeIntegers && Number.isSafeInteger(value)) return String(value);
    if (typeof value === 'number' && !Number.isInteger(value)) return { misfit: 'is not a whole number' };
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text !== 'string') return misfit(value, 'an integer');
    const integer =
      typeof value === 'number' ? BigInt(value) : integerPattern.test(text) ? BigInt(unsigned(text)) : null;
    if (integer === null) return { misfit: 'is not an integer' };
    return integer < min || integer > max ? { misfit: 'is out of the range of its column' } : String(integer);
  };
};

/** A decimal number as it was written, exponent included. */
export function decimalText(value: unknown): string | Misfit {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : { misfit: 'is not a finite number' };
  if (typeof value !== 'string') return misfit(value, 'a number');
  return decimalPattern.test(value) ? value : { misfit: 'is not a number' };
}

export function floatText(value: unknown): string | Misfit {
  if (typeof value === 'number') return decimalText(value);
  const text = decimalText(value);
  return typeof text === 'string' && !Number.isFinite(Number(text)) ? { misfit: 'is out of range' } : text;
}

export const checkedText = (issue: (text: string) => string | null) => (value: unknown) => {
  if (typeof value !== 'string') return misfit(value, 'a text of its form');
  const reason = issue(value);
  return reason === null ? value : { misfit: reason };
};

/** With or without hyphens. */
export const uuidText = checkedText((text) => (uuidPattern.test(text) ? null : 'is not a UUID'));

/**
 * JSON text that jsonb accepts. JSON.stringify writes NUL and lone surrogates as escapes, which jsonb refuses: NUL is removed, a
 * lone surrogate becomes U+FFFD.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\u') && /\\u(0000|d[89a-f])/.test(text) ? JSON.stringify(storableJson(value)) : text;
}

function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storable(key), storableJson(inner)]));
}

/** PostgreSQL stores neither U+0000 (removed) nor lone surrogates (replaced by U+FFFD). */
const storable = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();

const unsigned = (text: string): string => (text.startsWith('+') ? text.slice(1) : text);

export const misfit = (value: unknown, wanted: string): Misfit => ({
  misfit: `is ${Array.isArray(value) ? 'a list' : `of type ${typeof value}`}, not ${wanted}`,
});
