import { isJsonObject } from '../../json/is-json-object.ts';
import { jsonLimits, textIssue } from '../../json/json-limits.ts';
import { byNames } from '../../work/by-names.ts';
import { charge, type Evaluation, handBack } from './evaluation.ts';
import { isList, isMarked, type List } from './sequence.ts';

/**
 * The result as a process would return it: plain JSON without the marks of sequences. Hands back values that JSON or a
 * database cannot hold or that may be too large, because JSONata's process reports them best. Shares parts of the
 * record, and checks while it copies: `findJsonIssue` would be a second walk for each record.
 */
export function cleanResult(value: unknown, evaluation: Evaluation, page = resultsOfPage()): unknown {
  if (page.lengthLeft < 0) return handBack();
  const cleaning = { evaluation, lengthLeft: lengthMax, depthLeft: jsonLimits.depthMax };
  const cleaned = clean(value, cleaning);
  page.lengthLeft -= lengthMax - cleaning.lengthLeft;
  return cleaned;
}

/** Length left for the results of one page; beyond it they are handed back. */
export interface ResultsOfPage {
  lengthLeft: number;
}

/** A page of 10,000 records with 25,000 characters each, five times the longest usual response. */
export const resultsOfPage = (): ResultsOfPage => ({ lengthLeft: 250_000_000 });

/**
 * Limit of the characters of all texts and names, plus `lengthOfValue` per value. The JSON text may be six times as
 * long and is still sent.
 */
const lengthMax = 150_000;
const lengthOfValue = 24;

interface Cleaning {
  readonly evaluation: Evaluation;
  lengthLeft: number;
  depthLeft: number;
}

function clean(value: unknown, cleaning: Cleaning): unknown {
  spend(cleaning, lengthOfValue + (typeof value === 'string' ? value.length : 0));
  if (typeof value === 'string') return textIssue(value) === null ? value : handBack();
  if (typeof value === 'number') return Number.isFinite(value) ? withoutSign(value) : handBack();
  if (typeof value === 'boolean' || value === null) return value;
  return typeof value === 'object' ? cleanNested(value, cleaning) : handBack();
}

/** JSON text has no negative zero. */
const withoutSign = (value: number): number => (value === 0 ? 0 : value);

function spend(cleaning: Cleaning, length: number): void {
  cleaning.lengthLeft -= length;
  if (cleaning.lengthLeft < 0) handBack();
}

function cleanNested(value: object, cleaning: Cleaning): unknown {
  if (cleaning.depthLeft === 0) return handBack();
  cleaning.depthLeft -= 1;
  const cleaned = isList(value) ? cleanItems(value, cleaning) : cleanProperties(value, cleaning);
  cleaning.depthLeft += 1;
  return cleaned;
}

function cleanItems(items: List, cleaning: Cleaning): readonly unknown[] {
  charge(cleaning.evaluation, items.length);
  let changed: unknown[] | null = isMarked(items) ? [...items] : null;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    const cleaned = clean(item, cleaning);
    if (Object.is(cleaned, item)) continue;
    changed ??= [...items];
    changed[index] = cleaned;
  }
  return changed ?? items;
}

/** Length of the names together; `null` when a database cannot hold one of them. */
const lengthOfNames = byNames((names) =>
  names.some((name) => textIssue(name) !== null)
    ? null
    : names.reduce((sum, { length }) => sum + length + lengthOfValue, 0),
);

function cleanProperties(value: object, cleaning: Cleaning): object {
  if (!isJsonObject(value)) return handBack();
  let changed: Record<string, unknown> | null = null;
  const length = lengthOfNames(value);
  if (length === null) return handBack();
  spend(cleaning, length);
  for (const key in value) {
    const item = value[key];
    const cleaned = clean(item, cleaning);
    if (Object.is(cleaned, item)) continue;
    changed ??= { ...value };
    changed[key] = cleaned;
  }
  return changed ?? value;
}
