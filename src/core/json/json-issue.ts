import { byNames } from '../work/by-names.ts';
import { jsonLimits, prototypeNames } from './json-limits.ts';

/** Why and where a value is refused, for each caller to put into words. */
export type JsonIssue = Place & (NameIssue | TextIssue | ValueIssue);

interface Place {
  readonly path: readonly string[];
  readonly value: unknown;
}

interface NameIssue {
  readonly kind: 'reserved';
  readonly name: string;
}

interface TextIssue {
  readonly kind: 'long' | 'nul' | 'surrogate';
  /** The property whose name is at issue; `null` when the value itself is the text. */
  readonly name: string | null;
}

/** `deep` and `large` exceed `depthMax` and `nodesMax`; `number` is not finite; `type` is not JSON. */
interface ValueIssue {
  readonly kind: 'deep' | 'large' | 'number' | 'type';
  readonly name: null;
}

/**
 * `null` for JSON within the limits; text length is unlimited by default. Never throws, not even for a value that
 * contains itself.
 */
export function findJsonIssue(
  root: unknown,
  {
    textLengthMax = Number.POSITIVE_INFINITY,
    nodesMax = jsonLimits.nodesMax,
  }: { readonly textLengthMax?: number; readonly nodesMax?: number } = {},
): JsonIssue | null {
  const issue = issueIn(root, { nodesLeft: nodesMax, textLengthMax }, jsonLimits.depthMax);
  return issue && { ...issue, path: issue.path.toReversed() };
}

interface Walk {
  nodesLeft: number;
  readonly textLengthMax: number;
}

/** Built innermost name first on the way back, so a valid value costs nothing. */
type Found = JsonIssue & { readonly path: string[] };

function issueIn(value: unknown, walk: Walk, depthLeft: number): Found | null {
  walk.nodesLeft -= 1;
  if (walk.nodesLeft < 0) return { kind: 'large', name: null, path: [], value };
  if (typeof value === 'object' && value !== null) {
    if (depthLeft === 0) return { kind: 'deep', name: null, path: [], value };
    return Array.isArray(value) ? issueInItems(value, walk, depthLeft) : issueInProperties(value, walk, depthLeft);
  }
  const kind = typeof value === 'string' ? textIssue(value, walk.textLengthMax) : scalarIssue(value);
  return kind && { kind, name: null, path: [], value };
}

function issueInItems(items: readonly unknown[], walk: Walk, depthLeft: number): Found | null {
  for (let index = 0; index < items.length; index += 1) {
    const issue = issueIn(items[index], walk, depthLeft - 1);
    if (issue !== null) return below(issue, String(index));
  }
  return null;
}

function issueInProperties(object: object, walk: Walk, depthLeft: number): Found | null {
  const { issue, longest } = namesOf(object);
  if (issue !== null) return { ...issue, path: [], value: object };
  if (longest.length > walk.textLengthMax) return { kind: 'long', name: longest, path: [], value: object };
  for (const name in object) {
    const inside = issueIn((object as Readonly<Record<string, unknown>>)[name], walk, depthLeft - 1);
    if (inside !== null) return below(inside, name);
  }
  return null;
}

function below(issue: Found, name: string): Found {
  issue.path.push(name);
  return issue;
}

function textIssue(text: string, lengthMax = Number.POSITIVE_INFINITY): TextIssue['kind'] | null {
  if (text.length > lengthMax) return 'long';
  if (text.includes('\0')) return 'nul';
  return text.isWellFormed() ? null : 'surrogate';
}

function scalarIssue(value: unknown): ValueIssue['kind'] | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'number';
  return typeof value === 'boolean' || value === null ? null : 'type';
}

const namesOf = byNames((names) => ({
  issue: names.map(nameIssue).find((issue) => issue !== null) ?? null,
  longest: names.reduce((longer, name) => (name.length > longer.length ? name : longer), ''),
}));

function nameIssue(name: string): NameIssue | (TextIssue & { readonly name: string }) | null {
  if (prototypeNames.has(name)) return { kind: 'reserved', name };
  const kind = textIssue(name);
  return kind && { kind, name };
}
