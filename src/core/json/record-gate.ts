import { findJsonFault, type JsonFault } from './json-fault.ts';
import { jsonLimits, textIssue } from './json-limits.ts';

/**
 * Why a decoded record cannot pass the pipeline, as text for the quarantine row; null when it can. Checks one record
 * alone, never throws and takes any depth, so that failures are isolated per record.
 */
export function findIssue(record: unknown): string | null {
  const fault = findJsonFault(record);
  if (fault === null) return null;
  if (fault.name === null) return valueIssue(fault);
  return fault.kind === 'reserved'
    ? `has a property named "${fault.name}"`
    : `has a property name that ${textIssue(fault.name)}`;
}

function valueIssue({ kind, value }: JsonFault): string | null {
  if (kind === 'large') return `has more than ${jsonLimits.nodesMax} values`;
  if (kind === 'deep') return `is nested deeper than ${jsonLimits.depthMax} levels`;
  if (kind === 'number') return 'contains a number beyond the range of JSON';
  return typeof value === 'string' ? textIssue(value) : `contains a value of type ${typeof value}`;
}
