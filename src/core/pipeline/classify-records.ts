import { issueOf } from '../json-schema/validate.ts';
import type { Candidate } from '../model/candidate.ts';
import type { EvaluateRecords } from './shape.ts';

interface Checked {
  /** With an issue if the predicate threw on it. */
  readonly candidate: Candidate;
  /** `null` if not evaluated, or if it threw. */
  readonly holds: boolean | null;
}

/** Evaluates a predicate on each sound record, in order; `keyword` names the stage in issues of records on which it throws. */
export function classifyRecords(
  predicate: string,
  { evaluate, keyword }: { readonly evaluate: EvaluateRecords; readonly keyword: string },
): (candidates: readonly Candidate[], each: Readonly<Record<string, unknown>>) => Promise<readonly Checked[]> {
  // The evaluator returns objects; a predicate that selects nothing leaves `holds` out.
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
