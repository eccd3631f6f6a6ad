import { type Issue, schemaIssue } from '../errors.ts';
import { findJsonIssue, type JsonIssue } from './json-issue.ts';
import { jsonLimits } from './json-limits.ts';

/**
 * Refuses documents that would make the later checks slow or unsafe. Never throws, not even for a value that contains
 * itself.
 */
export function documentGate(document: unknown): Issue | null {
  const issue = findJsonIssue(document, jsonLimits);
  return issue && schemaIssue(issue.path.join('.'), messageOf(issue));
}

function messageOf({ kind, name, value }: JsonIssue): string {
  if (name !== null) return `the key ${JSON.stringify(name.slice(0, 100))} is not allowed`;
  return kind === 'type' ? `a ${typeof value} is not JSON` : messages[kind];
}

const messages = {
  deep: `nests deeper than ${jsonLimits.depthMax} levels`,
  large: `the document has more than ${jsonLimits.nodesMax} values`,
  long: `a text is longer than ${jsonLimits.textLengthMax} characters`,
  nul: 'a text contains U+0000',
  surrogate: 'a text contains half of a surrogate pair',
  number: 'expected a finite number',
} as const;
