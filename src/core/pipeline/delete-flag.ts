import type { Candidate } from '../model/candidate.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { classifyRecords } from './classify-records.ts';
import type { EvaluateRecords } from './shape.ts';

/** Marks the records that `deletes.when` classifies as deleted; a record on which it throws is invalid. */
export function createDeleteFlag(
  deletes: Resource['deletes'],
  evaluate: EvaluateRecords,
): (candidates: readonly Candidate[], each: Readonly<Record<string, unknown>>) => Promise<readonly Candidate[]> {
  if (deletes.mode !== 'flag') return async (candidates) => candidates;
  const classify = classifyRecords(deletes.when, { evaluate, keyword: 'deletes' });
  return async (candidates, each) => {
    const checked = await classify(candidates, each);
    return checked.map(({ candidate, holds }) => (holds ? { ...candidate, isDeleted: true } : candidate));
  };
}
