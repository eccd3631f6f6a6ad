import type { Evaluated } from '../expressions/evaluator-pool.ts';
import { valueAt } from '../source/dotted-path.ts';
import type { Resource } from '../spec/schema.ts';
import type { Candidate } from './candidate.ts';
import { mapWithPauses } from './pauses.ts';
import { compileValidator, issueOf } from './validate.ts';

/** One expression over many records, with the bindings of the run; each result stands alone. */
export type EvaluateRecords = (expression: string, records: readonly unknown[]) => Promise<readonly Evaluated[]>;

type JsonObject = Readonly<Record<string, unknown>>;

/** Transform and validate: the stage that makes rows of records, or issues of those that are none. */
export function createShape(
  { transform, validate: rules, target }: Resource,
  evaluate: EvaluateRecords,
): (candidates: readonly Candidate[]) => Promise<readonly Candidate[]> {
  const validate = rules ? compileValidator(rules.schema) : null;
  const withColumns = createColumnReader(target);

  const finish = (candidate: Candidate, result: Evaluated | undefined): Candidate => {
    if (result && !result.ok) return { ...candidate, issues: [issueOf('transform', result.failure.message)] };
    const shaped = result ? result.value : objectOf(candidate.raw);
    if (!shaped) return { ...candidate, issues: [issueOf('record', 'is not an object')] };
    return { ...candidate, data: withColumns(shaped), issues: validate?.(shaped) ?? null };
  };

  return async (candidates) => {
    const sound = candidates.filter((candidate) => candidate.issues === null);
    const records = sound.map((candidate) => candidate.raw);
    const results = transform === undefined ? [] : await evaluate(transform, records);
    let next = 0;
    return await mapWithPauses(candidates, (candidate) =>
      candidate.issues ? candidate : finish(candidate, results[next++]),
    );
  };
}

/** Adds the columns whose value lies elsewhere in the record (`target.columns.*.path`). */
function createColumnReader({ columns }: Resource['target']): (data: JsonObject) => JsonObject {
  const paths = Object.entries(columns).flatMap(([column, { path }]) =>
    path === undefined ? [] : [[column, path] as const],
  );
  if (paths.length === 0) return (data) => data;
  return (data) => ({ ...data, ...Object.fromEntries(paths.map(([column, path]) => [column, valueAt(data, path)])) });
}

const objectOf = (value: unknown): JsonObject | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
