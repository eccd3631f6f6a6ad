import type { Candidate } from '../model/candidate.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { judgeRecords } from './judge-records.ts';
import type { EvaluateRecords } from './shape.ts';

/** Marks the records that `deletes.flag.when` says are gone; one on which it throws is invalid. */
export function createDeleteFlag(
  deletes: Resource['deletes'],
  evaluate: EvaluateRecords,
): (candidates: readonly Candidate[], each: Readonly<Record<string, unknown>>) => Promise<readonly Candidate[]> {
  if (deletes.mode !== 'flag') return async (candidates) => candidates;
  const judge = judgeRecords(deletes.when, { evaluate, keyword: 'deletes' });
  return async (candidates, each) => {
    const judged = await judge(candidates, each);
    return judged.map(({ candidate, holds }) => (holds ? { ...candidate, gone: true } : candidate));
  };
}
