import { issueOf } from '../json-schema/validate.ts';
import type { Candidate } from '../model/candidate.ts';
import type { EvaluateRecords } from './shape.ts';

/** A record and whether the predicate holds for it. */
interface Checked {
  /** The record, with an issue if the predicate threw on it. */
  readonly candidate: Candidate;
  /** Whether the predicate holds; null: it was not evaluated, as the record is invalid. */
  readonly holds: boolean | null;
}

/** Evaluates a predicate on each sound record, in order; `keyword` names the stage in a record's issue if it throws. */
export function classifyRecords(
  predicate: string,
  { evaluate, keyword }: { readonly evaluate: EvaluateRecords; readonly keyword: string },
): (candidates: readonly Candidate[], each: Readonly<Record<string, unknown>>) => Promise<readonly Checked[]> {
  // Wrapped, because the evaluator gives objects: a predicate that selects nothing leaves `holds` out.
  const expression = `{ "holds": $boolean((${predicate}\n)) }`;
  return async (candidates, each) => {
    const sound = candidates.filter((candidate) => candidate.issues === null);
    const results = await evaluate(expression, sound, each);
    let next = 0;
    return candidates.map((candidate): Checked => {
      const result = candidate.issues === null ? results[next++] : undefined;
      if (!result) return { candidate, holds: null };
      if (result.ok) return { candidate, holds: result.value['holds'] === true };
      return { candidate: { ...candidate, issues: [issueOf(keyword, result.failure.message)] }, holds: null };
    });
  };
}
