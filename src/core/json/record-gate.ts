import { findJsonIssue, type JsonIssue } from './json-issue.ts';
import { jsonLimits, textIssue } from './json-limits.ts';

/**
 * Why a decoded record cannot pass the pipeline, as text for the quarantine row; `null` when it can. Never throws at
 * any depth, so failures are isolated per record.
 */
export function findIssue(record: unknown): string | null {
  const issue = findJsonIssue(record);
  if (issue === null) return null;
  if (issue.name === null) return valueIssue(issue);
  return issue.kind === 'reserved'
    ? `has a property named "${issue.name}"`
    : `has a property name that ${textIssue(issue.name)}`;
}

function valueIssue({ kind, value }: JsonIssue): string | null {
  if (kind === 'large') return `has more than ${jsonLimits.nodesMax} values`;
  if (kind === 'deep') return `is nested deeper than ${jsonLimits.depthMax} levels`;
  if (kind === 'number') return 'contains a number beyond the range of JSON';
  return typeof value === 'string' ? textIssue(value) : `contains a value of type ${typeof value}`;
}
