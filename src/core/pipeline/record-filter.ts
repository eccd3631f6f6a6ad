import type { Candidate } from '../model/candidate.ts';
import { classifyRecords } from './classify-records.ts';
import type { EvaluateRecords } from './shape.ts';

/** Drops the records that do not pass the resource's `filter`; a filter that throws on a record makes it invalid. */
export function createRecordFilter(
  filter: string | undefined,
  evaluate: EvaluateRecords,
): (candidates: readonly Candidate[], each: Readonly<Record<string, unknown>>) => Promise<readonly Candidate[]> {
  if (filter === undefined) return async (candidates) => candidates;
  const classify = classifyRecords(filter, { evaluate, keyword: 'filter' });
  return async (candidates, each) => {
    const checked = await classify(candidates, each);
    return checked.flatMap(({ candidate, holds }) => (holds === false ? [] : [candidate]));
  };
}
