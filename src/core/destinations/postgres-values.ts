import { dateFault, timestampFault } from './date-text.ts';

/** A value that does not fit its column; the reason never repeats it. */
interface Misfit {
  readonly misfit: string;
}

/**
 * Turns one value into the text PostgreSQL casts to the column's type: text carries integers beyond 2^53
 * and decimals unharmed. Null stays null.
 */
export type ToText = (value: unknown) => string | null | Misfit;

/** What decides how a column is written: the type's name in pg_type and its modifier (-1: none). */
export interface StoredType {
  readonly typeName: string;
  readonly modifier: number;
}

/** How values become text for a column. Types the service never creates are left to the server to judge. */
export function toTextFor({ typeName, modifier }: StoredType): ToText {
  const convert = converters[typeName];
  const inner = convert ? convert(modifier) : scalarText;
  return (value) => (value === null || value === undefined ? null : inner(value));
}

/** Whether the service itself may create columns of this type; the server judges the values of others. */
export const isConvertible = (typeName: string): boolean => typeName in converters;

/** Decimals after the point of numeric(p,s), by the type's modifier; its 11 bits hold negative scales too. */
export const scaleOf = (modifier: number): number => (((modifier - 4) & 0x7ff) ^ 1024) - 1024;

const converters: Readonly<Record<string, (modifier: number) => (value: unknown) => string | Misfit>> = {
  text: () => scalarText,
  // Modifier of a length: n + 4.
  varchar: (modifier) => (modifier < 0 ? scalarText : boundedText(modifier - 4)),
  bpchar: (modifier) => (modifier < 0 ? scalarText : boundedText(modifier - 4)),
  int2: () => integerText(-(2n ** 15n), 2n ** 15n - 1n),
  int4: () => integerText(-(2n ** 31n), 2n ** 31n - 1n),
  int8: () => integerText(-(2n ** 63n), 2n ** 63n - 1n),
  numeric: numericText,
  float4: () => floatText,
  float8: () => floatText,
  bool: () => (value) => (typeof value === 'boolean' ? String(value) : misfit(value, 'a boolean')),
  timestamptz: () => checkedText(timestampFault),
  timestamp: () => checkedText(timestampFault),
  date: () => checkedText(dateFault),
  uuid: () => checkedText((text) => (uuidPattern.test(text) ? null : 'is not a UUID')),
  json: () => jsonText,
  jsonb: () => jsonText,
};

const uuidPattern = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const integerPattern = /^[+-]?\d{1,40}$/;
const decimalPattern = /^[+-]?(\d{1,1000}(\.\d{0,1000})?|\.\d{1,1000})([eE][+-]?\d{1,3})?$/;

function scalarText(value: unknown): string | Misfit {
  if (typeof value === 'string') return storable(value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : misfit(value, 'a text');
}

/** PostgreSQL counts code points; the length in UTF-16 is never smaller, so most texts need no count. */
const boundedText = (lengthMax: number) => (value: unknown) => {
  const text = scalarText(value);
  if (typeof text !== 'string' || text.length <= lengthMax) return text;
  return countCodePoints(text) <= lengthMax ? text : { misfit: `is longer than ${lengthMax} characters` };
};

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

const integerText = (min: bigint, max: bigint) => (value: unknown) => {
  if (typeof value === 'number' && !Number.isInteger(value)) return { misfit: 'is not a whole number' };
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return misfit(value, 'an integer');
  if (Number.isSafeInteger(value) && max > 2n ** 53n) return text;
  const integer = typeof value === 'number' ? BigInt(value) : integerPattern.test(text) ? BigInt(unsigned(text)) : null;
  if (integer === null) return { misfit: 'is not an integer' };
  return integer < min || integer > max ? { misfit: 'is out of the range of its column' } : String(integer);
};

/** Modifier of numeric(p,s): ((p << 16) | s) + 4. More decimals than s are rounded, as SQL does. */
function numericText(modifier: number): (value: unknown) => string | Misfit {
  if (modifier < 0) return decimalText;
  const precision = (modifier - 4) >> 16;
  const scale = scaleOf(modifier);
  const bound = 10 ** (precision - scale);
  const fault = { misfit: `has more than ${precision - scale} digits before the point` };
  return (value) => {
    const text = decimalText(value);
    return typeof text === 'string' && Math.abs(Number(text)) > bound ? fault : text;
  };
}

function decimalText(value: unknown): string | Misfit {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : { misfit: 'is not a finite number' };
  if (typeof value !== 'string') return misfit(value, 'a number');
  return decimalPattern.test(value) ? value : { misfit: 'is not a number' };
}

function floatText(value: unknown): string | Misfit {
  const text = decimalText(value);
  return typeof text === 'string' && !Number.isFinite(Number(text)) ? { misfit: 'is out of range' } : text;
}

const checkedText = (fault: (text: string) => string | null) => (value: unknown) => {
  if (typeof value !== 'string') return misfit(value, 'a text of its form');
  const reason = fault(value);
  return reason === null ? value : { misfit: reason };
};

/** JSON.stringify writes NUL and halves of surrogate pairs as escapes, which jsonb refuses. */
function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return /\\u(0000|d[89a-f])/.test(text) ? JSON.stringify(storableJson(value)) : text;
}

function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storable(key), storableJson(inner)]));
}

/** U+0000 is removed, half a surrogate pair becomes U+FFFD: PostgreSQL has no text with either. */
const storable = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();

const unsigned = (text: string): string => (text.startsWith('+') ? text.slice(1) : text);

const misfit = (value: unknown, wanted: string): Misfit => ({
  misfit: `is ${Array.isArray(value) ? 'a list' : `of type ${typeof value}`}, not ${wanted}`,
});
