import type { Candidate } from '../model/candidate.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { classifyRecords } from './classify-records.ts';
import type { EvaluateRecords } from './shape.ts';

/**
 * Marks the records that the `filter` of a resource does not keep. If the resource finds deletes, a delivered one must
 * be deleted, so the change filter or a full scan decides. A deleted record need not pass; a record on which the filter
 * throws is invalid.
 */
export function createRecordFilter(
  { filter, deletes }: Pick<Resource, 'filter' | 'deletes'>,
  evaluate: EvaluateRecords,
): (candidates: readonly Candidate[], each: Readonly<Record<string, unknown>>) => Promise<readonly Candidate[]> {
  if (filter === undefined) return async (candidates) => candidates;
  const classify = classifyRecords(filter, { evaluate, keyword: 'filter' });
  // A full scan finds it missing, in each of its partitions.
  const isDeleted = deletes.mode === 'flag' || deletes.mode === 'endpoint';
  return async (candidates, each) => {
    const checked = await classify(candidates, each);
    return checked.map(({ candidate, holds }) =>
      holds === false && !candidate.isDeleted ? { ...candidate, isDeleted, isFiltered: true } : candidate,
    );
  };
}
