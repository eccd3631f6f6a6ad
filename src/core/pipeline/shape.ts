import type { Evaluated } from '../expressions/evaluation.ts';
import { valueAt } from '../json/dotted-path.ts';
import { isJsonObject } from '../json/is-json-object.ts';
import type { JsonObject } from '../json/json-object.ts';
import { createCoerce } from '../json-schema/coerce.ts';
import { compileValidator, issueOf } from '../json-schema/validate.ts';
import type { Candidate } from '../model/candidate.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { mapWithPauses } from '../work/map-with-pauses.ts';

/**
 * Evaluates one expression over many raw records, with the bindings of run and partition; each result is independent.
 */
export type EvaluateRecords = (
  expression: string,
  candidates: readonly Candidate[],
  each: JsonObject,
) => Promise<readonly Evaluated[]>;

/** Transform and validate: the stage that makes rows of records, or issues of invalid ones. */
export function createShape(
  { transform, validate: rules, target }: Resource,
  evaluate: EvaluateRecords,
): (candidates: readonly Candidate[], each: JsonObject) => Promise<readonly Candidate[]> {
  const validate = rules ? compileValidator(rules.schema) : null;
  const coerce = rules?.coerce ? createCoerce(rules.schema) : unchanged;
  const withColumns = createColumnReader(target);

  const finish = (candidate: Candidate, result: Evaluated | undefined): Candidate => {
    if (result && !result.ok) return { ...candidate, issues: [issueOf('transform', result.failure.message)] };
    const uncoerced = result ? result.value : objectOf(candidate.raw);
    if (!uncoerced) return { ...candidate, issues: [issueOf('record', 'is not an object')] };
    const shaped = coerce(uncoerced);
    return { ...candidate, data: withColumns(shaped), issues: validate?.(shaped) ?? null };
  };

  const finishNext = (candidate: Candidate, of: { readonly results: readonly Evaluated[]; next: number }): Candidate =>
    isShaped(candidate) ? finish(candidate, of.results[of.next++]) : candidate;

  return async (candidates, each) => {
    const results = transform === undefined ? [] : await evaluate(transform, candidates.filter(isShaped), each);
    return await mapWithPauses(candidates, finishNext, { results, next: 0 });
  };
}

/** Adds the columns whose value is elsewhere in the record (`target.columns.*.path`). */
function createColumnReader({ columns }: Resource['target']): (data: JsonObject) => JsonObject {
  const paths = Object.entries(columns).flatMap(([column, { path }]) =>
    path === undefined ? [] : [[column, path] as const],
  );
  if (paths.length === 0) return (data) => data;
  return (data) => ({ ...data, ...Object.fromEntries(paths.map(([column, path]) => [column, valueAt(data, path)])) });
}

const isShaped = ({ issues, isDeleted }: Candidate): boolean => issues === null && !isDeleted;

const unchanged = (data: JsonObject): JsonObject => data;

const objectOf = (value: unknown): JsonObject | null => (isJsonObject(value) ? { ...value } : null);
