import { invalid, schemaIssue } from '../errors.ts';
import { findJsonIssue, type JsonIssue } from './json-issue.ts';
import { jsonLimits } from './json-limits.ts';

/** Byte limit of a request body or a file that will become one; the API responds with 413 above it. */
export const bodyBytesMax = 1_048_576;

/** In UTF-16 units, for a text or a name. */
export interface TextLimit {
  readonly textLengthMax: number;
}

/**
 * Refuses documents that are too deep or too large, and values that PostgreSQL or JavaScript would change silently.
 * Throws a validation error with the path.
 */
export function checkDocument(document: unknown, limits: TextLimit = jsonLimits): void {
  const issue = findJsonIssue(document, limits);
  if (issue === null) return;
  const path = [...issue.path, ...(issue.name === null ? [] : [issue.name])].join('.').slice(0, pathLengthMax);
  throw invalid('The body is not valid.', [schemaIssue(path, messageOf(issue))]);
}

/** Longer names and paths are cut: the caller knows the rest, and a response is not an echo. */
const pathLengthMax = 200;

function messageOf({ kind, name }: JsonIssue): string {
  if (kind === 'reserved') return 'has a name that is not allowed';
  return name === null ? messages[kind] : `has a name that ${messages[kind]}`;
}

const messages = {
  deep: `is nested deeper than ${jsonLimits.depthMax} levels`,
  large: `holds more than ${jsonLimits.nodesMax} values`,
  long: `is longer than ${jsonLimits.textLengthMax} characters`,
  nul: 'holds the character U+0000',
  surrogate: 'holds half of a surrogate pair',
  number: 'is a number beyond the range of a double',
  type: 'is not JSON',
} as const;
