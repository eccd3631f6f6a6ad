import { dateIssue, timestampIssue } from '../sql/date-text.ts';
import {
  checkedText,
  decimalText,
  floatText,
  integerText,
  jsonText,
  type Misfit,
  misfit,
  nullable,
  scalarText,
  type ToCell,
  uuidText,
  type ValueText,
} from '../sql/record-values.ts';
import { utcText } from '../sql/utc-text.ts';

export interface StoredType {
  /** Name in sys.types, such as `bigint`. */
  readonly typeName: string;
  /** Length of texts in UTF-16 units, of varchar in bytes; -1 for max. */
  readonly length: number;
  readonly precision: number;
  readonly scale: number;
  /** Collation of texts, as part of a statement; `null` if unknown. */
  readonly collation: string | null;
  /** Whether it holds the JSON text of any value, not only texts. */
  readonly isJson: boolean;
}

export interface ValueForm {
  readonly toCell: ToCell;
  /** Staged as a text of so many UTF-16 units (Infinity: unbounded), or as double precision. */
  readonly staged: number | 'float';
  /** Cast for the staged value. `null` to assign it unchanged, so that a longer text is refused. */
  readonly castType: string | null;
  readonly serverCheck: ServerCheck | null;
}

type ServerCheck =
  /** Whether its text can be cast, and fits into so many bytes (-1: any number). */
  | { readonly kind: 'cast'; readonly typeName: string; readonly bytes: number }
  /** Whether the code page of the collation has its characters, and in how many bytes (-1: any number). */
  | { readonly kind: 'codePage'; readonly collation: string; readonly bytes: number };

/** The server validates types that the service never creates. */
export function formFor(type: StoredType): ValueForm {
  const form = forms.get(type.typeName) ?? foreign;
  const { convert, staged, castType, serverCheck = null } = form(type);
  return { toCell: nullable(convert), staged, castType, serverCheck };
}

/** Whether the service itself may create columns of this type. */
export const isConvertible = (typeName: string): boolean => forms.has(typeName);

interface Form {
  readonly convert: ValueText;
  readonly staged: ValueForm['staged'];
  readonly castType: string | null;
  readonly serverCheck?: ServerCheck;
}

const bounded = (convert: ValueText, staged = Infinity): Form => ({ convert, staged, castType: null });

/** By the names of sys.types. A map: the names come from the customer's server, and every object has a `constructor`. */
const forms: ReadonlyMap<string, (type: StoredType) => Form> = new Map<string, (type: StoredType) => Form>([
  ['nvarchar', unicodeText],
  ['nchar', unicodeText],
  ['varchar', codePageText],
  ['char', codePageText],
  ['tinyint', () => cast(integerText(0n, 255n), 'tinyint', 20)],
  ['smallint', () => cast(integerText(-(2n ** 15n), 2n ** 15n - 1n), 'smallint', 20)],
  ['int', () => cast(integerText(-(2n ** 31n), 2n ** 31n - 1n), 'int', 20)],
  ['bigint', () => cast(integerText(-(2n ** 63n), 2n ** 63n - 1n), 'bigint', 20)],
  ['decimal', exactNumber],
  ['numeric', exactNumber],
  ['float', () => ({ convert: normalFloat, staged: 'float', castType: null })],
  ['real', () => ({ convert: normalFloat, staged: 'float', castType: null })],
  [
    'bit',
    () => cast((value) => (typeof value === 'boolean' ? String(Number(value)) : misfit(value, 'a boolean')), 'bit', 1),
  ],
  ['datetimeoffset', () => cast(utcTimestamp('+00:00'), 'datetimeoffset(7)', 40)],
  ['datetime2', () => cast(utcTimestamp(''), 'datetime2(7)', 40)],
  ['date', () => cast(checkedText(dateIssue), 'date', 10)],
  ['uniqueidentifier', () => cast(hyphenated, 'uniqueidentifier', 36)],
]);

const cast = (convert: ValueText, castType: string, staged: number): Form => ({ convert, staged, castType });

/** The length counts UTF-16 units, so an emoji takes two. */
function unicodeText({ length, isJson }: StoredType): Form {
  const convert = isJson ? jsonText : scalarText;
  return length < 0 ? bounded(convert) : bounded(within(length, convert), length);
}

/**
 * The server would store `?` for characters outside the code page. A text takes at least a byte for each UTF-16 unit. If the
 * collation is unknown, only ASCII is sure to fit.
 */
function codePageText({ length, collation }: StoredType): Form {
  const convert = (value: unknown) => {
    const text = scalarText(value);
    return typeof text !== 'string' || collation !== null || isAscii(text)
      ? text
      : { misfit: 'has characters that its varchar column may not hold; make it nvarchar' };
  };
  const staged = length < 0 || length > unitsMax ? Infinity : length;
  const form = bounded(length < 0 ? convert : within(length, convert), staged);
  return collation === null ? form : { ...form, serverCheck: { kind: 'codePage', collation, bytes: length } };
}

/** Whether every code page holds the text, in a byte for each character. */
export const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;

const unitsMax = 4000;

/** Without a length a cast to binary truncates at 30 bytes, and nvarchar(max) cannot become sql_variant. */
function foreign({ typeName, length }: StoredType): Form {
  if (typeName === 'sql_variant') return cast(within(unitsMax, scalarText), typeName, unitsMax);
  const isBinary = binaries.includes(typeName);
  return {
    ...cast(scalarText, isBinary ? 'varbinary(max)' : typeName, Infinity),
    serverCheck: { kind: 'cast', typeName, bytes: isBinary && typeName !== 'image' ? length : -1 },
  };
}

const binaries = ['binary', 'varbinary', 'image'];

const within = (lengthMax: number, convert: ValueText) => (value: unknown) => {
  const text = convert(value);
  return typeof text === 'string' && text.length > lengthMax ? { misfit: longerThan(`${lengthMax} characters`) } : text;
};

/** `length` includes the unit. */
export const longerThan = (length: string): string =>
  `is longer than the ${length} of its column; lengthen the column and try the record again`;

/** A cast knows no exponent, and none of the 38 digits may be lost: digits are counted here. */
function exactNumber({ precision, scale }: StoredType): Form {
  const issue = { misfit: `has more than ${precision - scale} digits before the point` };
  const convert = (value: unknown) => {
    const text = decimalText(value);
    return typeof text === 'string' ? (fixedPoint(text, { precision, scale }) ?? issue) : text;
  };
  return cast(convert, `decimal(${precision},${scale})`, 40);
}

/** Rounds half away from zero, as SQL does; `null` when the number has too many digits. */
function fixedPoint(
  text: string,
  { precision, scale }: { readonly precision: number; readonly scale: number },
): string | null {
  const [, sign = '', whole = '', decimals = '', exponent = '0'] = /^([+-]?)(\d*)\.?(\d*)(?:e(.*))?$/i.exec(text) ?? [];
  const shift = Number(exponent) - decimals.length + scale;
  const digits = BigInt(whole + decimals);
  const scaled = shift >= 0 ? digits * 10n ** BigInt(shift) : roundedQuotient(digits, 10n ** BigInt(-shift));
  if (scaled >= 10n ** BigInt(precision)) return null;
  const padded = String(scaled).padStart(scale + 1, '0');
  const point = padded.length - scale;
  return `${sign === '-' ? '-' : ''}${padded.slice(0, point)}${scale > 0 ? `.${padded.slice(point)}` : ''}`;
}

const roundedQuotient = (dividend: bigint, divisor: bigint): bigint => (2n * dividend + divisor) / (2n * divisor);

/** The server has no numbers between zero and the smallest of full precision. */
function normalFloat(value: unknown): string | Misfit {
  const text = floatText(value);
  if (typeof text !== 'string') return text;
  const magnitude = Math.abs(Number(text));
  return magnitude > 0 && magnitude < smallestNormal ? { misfit: 'is out of range' } : text;
}

const smallestNormal = 2.2250738585072014e-308;

const utcTimestamp =
  (suffix: string): ValueText =>
  (value) => {
    const text = checkedText(timestampIssue)(value);
    if (typeof text !== 'string') return text;
    const utc = utcText(text);
    return utc === null ? { misfit: 'is out of the range of its column' } : `${utc}${suffix}`;
  };

function hyphenated(value: unknown): string | Misfit {
  const text = uuidText(value);
  return typeof text === 'string'
    ? text.replaceAll('-', '').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    : text;
}
