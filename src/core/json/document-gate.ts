import type { Issue } from '../errors.ts';
import { prototypeNames } from './property-names.ts';

const depthMax = 64;
const nodesMax = 100_000;
const textLengthMax = 65_536;

/**
 * Refuses documents that would make the later checks slow or unsafe: too deep, too many values, too long a text, keys
 * that reach a prototype, values that are not JSON. Never throws, not even for a value that contains itself. Null when
 * the document passes. Stops at the first issue.
 */
export function documentGate(document: unknown): Issue | null {
  const pending: Pending[] = [{ value: document, path: '', depth: 0 }];
  let nodes = 0;
  for (let next = pending.pop(); next; next = pending.pop()) {
    nodes += 1;
    const message = nodes > nodesMax ? `the document has more than ${nodesMax} values` : issue(next);
    if (message !== null) return { code: 'schema', path: next.path, message };
    for (const child of children(next)) pending.push(child);
  }
  return null;
}

interface Pending {
  readonly value: unknown;
  readonly path: string;
  readonly depth: number;
}

function issue({ value, depth }: Pending): string | null {
  if (value === null || typeof value === 'boolean') return null;
  if (typeof value === 'string') return textIssue(value);
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'expected a finite number';
  if (typeof value !== 'object') return `a ${typeof value} is not JSON`;
  if (depth >= depthMax) return `nests deeper than ${depthMax} levels`;
  const keys = Object.keys(value);
  if (keys.length > nodesMax) return `has more than ${nodesMax} values`;
  const key = keys.find((name) => prototypeNames.has(name) || textIssue(name) !== null);
  return key === undefined ? null : `the key ${JSON.stringify(key.slice(0, 100))} is not allowed`;
}

function textIssue(text: string): string | null {
  if (text.length > textLengthMax) return `a text is longer than ${textLengthMax} characters`;
  if (text.includes('\0')) return 'a text contains U+0000';
  return text.isWellFormed() ? null : 'a text contains half of a surrogate pair';
}

function children({ value, path, depth }: Pending): readonly Pending[] {
  if (typeof value !== 'object' || value === null) return [];
  const entries = Object.entries(value).toReversed();
  return entries.map(([key, child]) => ({
    value: child,
    path: path === '' ? key : `${path}.${key}`,
    depth: depth + 1,
  }));
}
