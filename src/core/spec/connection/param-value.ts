import { secretCharsMax } from '../../crypto/secret-limit.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { PatternBudget } from '../../json-schema/linear-pattern.ts';
import type { ConnectionParam } from '../schema/param-schema.ts';
import { formatWords, hasFormat } from './param-format.ts';
import { matchesPattern } from './param-pattern.ts';

/** Why a URL may not be called; `null` if it may. */
export type HostIssue = (url: URL) => string | null;

export interface ParamCheck {
  readonly hostIssue?: HostIssue;
  readonly budget: PatternBudget;
}

/** Why a value does not fit its param, without repeating it; `null` if it fits. */
export function paramIssue(param: ConnectionParam, value: unknown, { hostIssue, budget }: ParamCheck): string | null {
  const typeIssue = typeIssues[param.type](value) ?? (param.secret ? secretIssue(value) : null);
  if (typeIssue !== null) return typeIssue;
  if (typeof value === 'number') return numberIssue(param, value) ?? enumIssue(param, [value]);
  const texts = typeof value === 'string' ? [value] : param.type === 'string_list' && isTextList(value) ? value : [];
  const issue = textIssue(param, texts, budget) ?? enumIssue(param, param.type === 'string_list' ? texts : [value]);
  return issue ?? (param.type === 'url' && typeof value === 'string' ? urlIssue(value, hostIssue) : null);
}

/** A value that is not text counts as JSON. */
function secretIssue(value: unknown): string | null {
  const { length } = typeof value === 'string' ? value : JSON.stringify(value);
  return length > secretCharsMax ? `expected a secret of at most ${secretCharsMax} characters` : null;
}

const listLengthMax = 10_000;

const isTextList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const typeIssues: Readonly<Record<ConnectionParam['type'], (value: unknown) => string | null>> = {
  string: (value) => (typeof value === 'string' ? null : 'expected a string'),
  url: (value) => (typeof value === 'string' ? null : 'expected a URL as a string'),
  integer: (value) => (Number.isSafeInteger(value) ? null : 'expected an integer'),
  number: (value) => (Number.isFinite(value) ? null : 'expected a number'),
  boolean: (value) => (typeof value === 'boolean' ? null : 'expected true or false'),
  string_list: (value) =>
    isTextList(value) && value.length <= listLengthMax ? null : `expected a list of at most ${listLengthMax} strings`,
  json: () => null,
};

function numberIssue({ min, max }: ConnectionParam, value: number): string | null {
  if (min !== undefined && value < min) return `expected at least ${min}`;
  return max !== undefined && value > max ? `expected at most ${max}` : null;
}

function textIssue(param: ConnectionParam, texts: readonly string[], budget: PatternBudget): string | null {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, format, pattern } = param;
  if (texts.some((text) => text.length < minLength)) return `expected at least ${minLength} characters`;
  if (texts.some((text) => text.length > maxLength)) return `expected at most ${maxLength} characters`;
  if (format !== undefined && texts.some((text) => !hasFormat(format, text))) return `expected ${formatWords[format]}`;
  return pattern === undefined ? null : matchIssue(pattern, texts, budget);
}

function matchIssue(pattern: string, texts: readonly string[], budget: PatternBudget): string | null {
  const matches = matchesPattern(pattern, texts, budget);
  if (matches === 'yes') return null;
  return matches === 'no'
    ? `does not match the pattern ${pattern}`
    : `the pattern ${pattern} takes too long on this value; ask the author of the spec to simplify it`;
}

function enumIssue(param: ConnectionParam, values: readonly unknown[]): string | null {
  if (param.enum === undefined) return null;
  const allowed = new Set(param.enum.map((allowedValue) => canonicalJson(allowedValue)));
  if (values.every((value) => allowed.has(canonicalJson(value)))) return null;
  return `expected one of ${[...allowed].slice(0, 20).join(', ')}`;
}

function urlIssue(text: string, hostIssue: HostIssue | undefined): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:\/\//i.test(text) || text !== text.trim()) return 'expected an http or https URL';
  if (url.username !== '' || url.password !== '') return 'a URL with user or password is not allowed; use a secret';
  return hostIssue?.(url) ?? null;
}
