import { JinjaError } from './syntax.ts';

/** `time` is milliseconds since 1970, `day` the same at a day's start. */
export type Kind = 'text' | 'number' | 'boolean' | 'none' | 'list' | 'object' | 'time' | 'day' | 'duration' | 'any';

export interface Value {
  readonly kind: Kind;
  /** JSONata that can be an operand of any operator as it stands. */
  readonly code: string;
  /** The value itself, if known at import. */
  readonly constant?: { readonly value: unknown };
  /** A field of a value that is not simply an object of the response; `null` if it has none of that name. */
  readonly member?: (key: string) => Value | null;
  /** A missing value is None, as in `.get()`, instead of nothing, as for an attribute. */
  readonly absent?: 'none';
  /** A text that the CDK does not read as a literal of Python. */
  readonly final?: boolean;
  /** JSONata for the milliseconds of a text that writes an instant. */
  readonly instant?: string;
  /** It is one path, so evaluating it twice costs nothing. */
  readonly plain?: boolean;
}

export interface Scope {
  /** `null` if the place has no such name. */
  name(name: string): Value | null;
  readonly place: string;
}

export function constant(value: unknown): Value {
  const base = { constant: { value }, plain: true };
  if (typeof value === 'string') return { ...base, kind: 'text', code: quote(value) };
  if (typeof value === 'number') return { ...base, kind: 'number', code: value < 0 ? `(${value})` : String(value) };
  if (typeof value === 'boolean') return { ...base, kind: 'boolean', code: String(value) };
  if (value === null || value === undefined) return { ...base, kind: 'none', code: 'null' };
  return { ...base, kind: Array.isArray(value) ? 'list' : 'object', code: json(value) };
}

const lengthMax = 100_000;

/** Throws `JinjaError` for a value with more characters: a few operators could make gigabytes. */
export function checkLength(length: number, at: number): void {
  if (length > lengthMax) throw new JinjaError(`makes a value of more than ${lengthMax} characters`, at);
}

export const lengthOf = (values: readonly Value[]): number => values.reduce((sum, { code }) => sum + code.length, 0);

export const computed = (kind: Kind, code: string): Value => ({ kind, code });

export const pathValue = (code: string, kind: Kind = 'any'): Value => ({ kind, code, plain: true });

/** A missing value: an empty text in a text, false in a condition. */
export const missing: Value = { kind: 'any', code: '""', constant: { value: undefined }, plain: true };

export const quote = (text: string): string => JSON.stringify(text);

const reserved: ReadonlySet<string> = new Set(['and', 'or', 'in', 'true', 'false', 'null', 'function']);

/** A name as a step of a path; `null` if JSONata cannot write it. */
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
