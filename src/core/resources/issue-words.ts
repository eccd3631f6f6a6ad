import type * as v from 'valibot';

/**
 * What a place wants, in words that do not repeat the value found there. Messages given in a schema are ours and kept;
 * valibot's own start with `Invalid` and quote the value.
 */
export function issueWords(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'schema' && issue.received === 'undefined') return 'is required';
  if (!issue.message.startsWith('Invalid')) return issue.message;
  return `expected ${issue.kind === 'schema' ? typeWords(issue) : limitWords(issue)}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  record: 'an object',
  object: 'an object',
  strict_object: 'an object',
};

/** Choices are listed as valibot lists them: `"a" | "b"`. */
const typeWords = ({ type, expected }: v.BaseIssue<unknown>): string =>
  typeNames[type] ?? (expected ?? 'another value').replaceAll(/[()]/g, '');

const bounds: Readonly<Record<string, readonly [words: string, unit: boolean]>> = {
  min_length: ['at least', true],
  max_length: ['at most', true],
  max_bytes: ['at most', true],
  min_value: ['at least', false],
  max_value: ['at most', false],
  gt_value: ['more than', false],
};

function limitWords({ type, expected, requirement, input }: v.BaseIssue<unknown>): string {
  const bound = bounds[type];
  if (bound === undefined) return type.endsWith('integer') ? 'an integer' : (expected ?? 'another value');
  const [words, hasUnit] = bound;
  if (!hasUnit) return `${words} ${String(requirement)}`;
  const unit = type === 'max_bytes' ? 'byte' : Array.isArray(input) ? 'item' : 'character';
  return `${words} ${String(requirement)} ${unit}${requirement === 1 ? '' : 's'}`;
}
