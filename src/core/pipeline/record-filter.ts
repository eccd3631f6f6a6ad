import type { Candidate } from './candidate.ts';
import type { EvaluateRecords } from './shape.ts';
import { issueOf } from './validate.ts';

/** Drops the records that the resource's `filter` does not keep; a filter that throws on a record makes it invalid. */
export function createRecordFilter(
  filter: string | undefined,
  evaluate: EvaluateRecords,
): (candidates: readonly Candidate[]) => Promise<readonly Candidate[]> {
  if (filter === undefined) return async (candidates) => candidates;
  // Wrapped, because the evaluator gives objects: a filter that selects nothing leaves `keep` out.
  const expression = `{ "keep": $boolean((${filter}\n)) }`;
  return async (candidates) => {
    const sound = candidates.filter((candidate) => candidate.issues === null);
    const results = await evaluate(
      expression,
      sound.map((candidate) => candidate.raw),
    );
    const verdicts = new Map(sound.map((candidate, index) => [candidate, results[index]]));
    return candidates.flatMap((candidate) => {
      const verdict = verdicts.get(candidate);
      if (!verdict) return [candidate];
      if (!verdict.ok) return [{ ...candidate, issues: [issueOf('filter', verdict.failure.message)] }];
      return verdict.value['keep'] === true ? [candidate] : [];
    });
  };
}
