import { dateIssue, timestampIssue } from '../sql/date-text.ts';
import {
  checkedText,
  decimalText,
  floatText,
  integerText,
  jsonText,
  misfit,
  nullable,
  scalarText,
  type ToText,
  uuidText,
  type ValueText,
} from '../sql/record-values.ts';

/** Type name in pg_type, and modifier (-1 if none). */
export interface StoredType {
  readonly typeName: string;
  readonly modifier: number;
}

/** The server checks types that the service never creates. */
export function toTextFor({ typeName, modifier }: StoredType): ToText {
  const convert = converters.get(typeName);
  return nullable(convert ? convert(modifier) : scalarText);
}

/** Whether the service itself may create columns of this type. */
export const isConvertible = (typeName: string): boolean => converters.has(typeName);

/** The 11 bits of the modifier hold negative scales too. */
export const scaleOf = (modifier: number): number => (((modifier - 4) & 0x7ff) ^ 1024) - 1024;

/** By the names of pg_type. A map: the names come from the customer's server, and every object has a `constructor`. */
const converters: ReadonlyMap<string, (modifier: number) => ValueText> = new Map<
  string,
  (modifier: number) => ValueText
>([
  ['text', () => scalarText],
  // Modifier of a length: n + 4.
  ['varchar', (modifier) => (modifier < 0 ? scalarText : boundedText(modifier - 4))],
  ['bpchar', (modifier) => (modifier < 0 ? scalarText : boundedText(modifier - 4))],
  ['int2', () => integerText(-(2n ** 15n), 2n ** 15n - 1n)],
  ['int4', () => integerText(-(2n ** 31n), 2n ** 31n - 1n)],
  ['int8', () => integerText(-(2n ** 63n), 2n ** 63n - 1n)],
  ['numeric', numericText],
  ['float4', () => floatText],
  ['float8', () => floatText],
  ['bool', () => (value) => (typeof value === 'boolean' ? String(value) : misfit(value, 'a boolean'))],
  ['timestamptz', () => checkedText(timestampIssue)],
  ['timestamp', () => checkedText(timestampIssue)],
  ['date', () => checkedText(dateIssue)],
  ['uuid', () => uuidText],
  ['json', () => jsonText],
  ['jsonb', () => jsonText],
]);

/** PostgreSQL counts code points; the length in UTF-16 is never smaller, so most texts need no count. */
const boundedText = (lengthMax: number) => (value: unknown) => {
  const text = scalarText(value);
  if (typeof text !== 'string' || text.length <= lengthMax) return text;
  return countCodePoints(text) <= lengthMax
    ? text
    : {
        misfit: `is longer than the ${lengthMax} characters of its column; lengthen the column and try the record again`,
      };
};

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Modifier of numeric(p,s): ((p << 16) | s) + 4. Decimals beyond s are rounded, as SQL does. */
function numericText(modifier: number): ValueText {
  if (modifier < 0) return decimalText;
  const precision = (modifier - 4) >> 16;
  const scale = scaleOf(modifier);
  const bound = 10 ** (precision - scale);
  const issue = { misfit: `has more than ${precision - scale} digits before the point` };
  return (value) => {
    const text = decimalText(value);
    return typeof text === 'string' && Math.abs(Number(text)) > bound ? issue : text;
  };
}
