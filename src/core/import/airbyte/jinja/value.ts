import { JinjaError } from './syntax.ts';

/** What is known of a value before the spec runs. `time`: milliseconds since 1970; `days`: the same at a day's begin. */
export type Kind = 'text' | 'number' | 'boolean' | 'none' | 'list' | 'object' | 'time' | 'day' | 'duration' | 'any';

/** The value of an expression of Jinja, as JSONata. */
export interface Value {
  readonly kind: Kind;
  /** JSONata; an operand of any operator as it stands. */
  readonly code: string;
  /** The value itself, where it is known at import. */
  readonly constant?: { readonly value: unknown };
  /** A field of a value that is not simply an object of the response. Null: it has none of that name. */
  readonly member?: (key: string) => Value | null;
  /** What stands for a missing value: nothing, as of an attribute, or None, as of `.get()`. */
  readonly absent?: 'none';
  /** A text that the CDK does not read as a literal of Python. */
  readonly final?: boolean;
  /** Of a text that writes an instant: JSONata of its milliseconds. */
  readonly instant?: string;
  /** It is one path: evaluating it twice costs nothing. */
  readonly plain?: boolean;
}

/** The names that an expression sees at one place. */
export interface Scope {
  /** Null: the place has no such name. */
  name(name: string): Value | null;
  /** The place for people, as in "in a request". */
  readonly place: string;
}

/** A value that is known. */
export function constant(value: unknown): Value {
  const base = { constant: { value }, plain: true };
  if (typeof value === 'string') return { ...base, kind: 'text', code: quote(value) };
  if (typeof value === 'number') return { ...base, kind: 'number', code: value < 0 ? `(${value})` : String(value) };
  if (typeof value === 'boolean') return { ...base, kind: 'boolean', code: String(value) };
  if (value === null || value === undefined) return { ...base, kind: 'none', code: 'null' };
  return { ...base, kind: Array.isArray(value) ? 'list' : 'object', code: json(value) };
}

/** Characters of a value that an expression makes. */
const lengthMax = 100_000;

/** Throws `JinjaError` when a value would have so many characters: a few operators could make gigabytes. */
export function checkLength(length: number, at: number): void {
  if (length > lengthMax) throw new JinjaError(`makes a value of more than ${lengthMax} characters`, at);
}

/** The characters of values together, as JSONata. */
export const lengthOf = (values: readonly Value[]): number => values.reduce((sum, { code }) => sum + code.length, 0);

/** A value of this code. */
export const computed = (kind: Kind, code: string): Value => ({ kind, code });

/** A field of the input: a path that costs nothing to evaluate twice. */
export const pathValue = (code: string, kind: Kind = 'any'): Value => ({ kind, code, plain: true });

/** A value that is not there: an empty text in a text, false in a condition. */
export const missing: Value = { kind: 'any', code: '""', constant: { value: undefined }, plain: true };

/** A text as a literal of JSONata. */
export const quote = (text: string): string => JSON.stringify(text);

const reserved: ReadonlySet<string> = new Set(['and', 'or', 'in', 'true', 'false', 'null', 'function']);

/** A name as a step of a path. Null: JSONata cannot write it. */
export function step(name: string): string | null {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !reserved.has(name)) return name;
  return name === '' || name.includes('`') ? null : `\`${name}\``;
}

function json(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(json).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? quote(value) : String(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${quote(key)}: ${json(item)}`)
    .join(', ')}}`;
}
