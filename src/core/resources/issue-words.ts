import * as v from 'valibot';
import { firstIssues, type Issue, schemaIssue } from '../errors.ts';

/** Longer texts are lists of choices, which are shown once. */
const repeatedCharsMax = 100;

/** Converts issues of valibot to those of the interface, without received values; see {@link firstIssues}. */
export function issuesOf(found: readonly v.BaseIssue<unknown>[]): readonly Issue[] {
  const firstPlaces = new Map<string, string>();
  return firstIssues(found, (one) => {
    const path = v.getDotPath(one) ?? '';
    const words = issueWords(one);
    const first = firstPlaces.get(words);
    if (first !== undefined) return schemaIssue(path, `expected one of the choices named at ${first}`);
    if (one.kind === 'schema' && words.length > repeatedCharsMax) firstPlaces.set(words, path);
    return schemaIssue(path, words);
  });
}

/**
 * The expectation at a place, without the value found there. Messages of our schemas are kept; valibot's own start with
 * `Invalid` and quote the value.
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
