import { AppError } from '../errors.ts';
import type { Evaluated } from '../expressions/evaluation.ts';
import { valueAt } from '../json/dotted-path.ts';
import { isJsonObject } from '../json/is-json-object.ts';
import type { JsonObject } from '../json/json-object.ts';
import { createCoerce } from '../json-schema/coerce.ts';
import { compileValidator, issueOf } from '../json-schema/validate.ts';
import type { Candidate } from '../model/candidate.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { mapWithPauses } from '../work/map-with-pauses.ts';

/** Evaluates one expression over many raw records with the bindings of run and partition, each independently. */
export type EvaluateRecords = (
  expression: string,
  candidates: readonly Candidate[],
  each: JsonObject,
) => Promise<readonly Evaluated[]>;

/** The stage that transforms and validates records: it makes rows, or issues of invalid ones. */
export function createShape(
  { transform, validate: rules, target }: Resource,
  evaluate: EvaluateRecords,
): (candidates: readonly Candidate[], each: JsonObject) => Promise<readonly Candidate[]> {
  const validate = rules ? compileValidator(rules.schema) : null;
  const coerce = rules?.coerce ? createCoerce(rules.schema) : unchanged;
  const withColumns = createColumnReader(target);

  const finish = (candidate: Candidate, result: Evaluated | undefined, page: ColumnsOfPage): Candidate => {
    if (result && !result.ok) return { ...candidate, issues: [issueOf('transform', result.failure.message)] };
    const uncoerced = result ? result.value : objectOf(candidate.raw);
    if (!uncoerced) return { ...candidate, issues: [issueOf('record', 'is not an object')] };
    const shaped = coerce(uncoerced);
    return { ...candidate, data: withColumns(shaped, page), issues: validate?.(shaped) ?? null };
  };

  const finishNext = (candidate: Candidate, of: ShapingOfPage): Candidate =>
    isShaped(candidate) ? finish(candidate, of.results[of.next++], of) : candidate;

  return async (candidates, each) => {
    const results = transform === undefined ? [] : await evaluate(transform, candidates.filter(isShaped), each);
    return await mapWithPauses(candidates, finishNext, { results, next: 0, columnCharsLeft: columnCharsMax });
  };
}

/** Adds the columns taken from a path in the record (`target.columns.*.path`). */
function createColumnReader({ columns }: Resource['target']): (data: JsonObject, page: ColumnsOfPage) => JsonObject {
  const paths = Object.entries(columns).flatMap(([column, { path }]) =>
    path === undefined ? [] : [[column, path] as const],
  );
  if (paths.length === 0) return (data) => data;
  return (data, page) => {
    const added = paths.map(([column, path]) => [column, valueAt(data, path)] as const);
    for (const [, value] of added) page.columnCharsLeft -= charsOf(value);
    if (page.columnCharsLeft < 0) throw tooLargeColumns();
    return { ...data, ...Object.fromEntries(added) };
  };
}

/** Maximum characters that columns with a path add on one page: many columns may have the same large value. */
const columnCharsMax = 250_000_000;

interface ColumnsOfPage {
  columnCharsLeft: number;
}

interface ShapingOfPage extends ColumnsOfPage {
  readonly results: readonly Evaluated[];
  next: number;
}

function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 0;
}

const tooLargeColumns = (): AppError =>
  new AppError(
    'spec_invalid',
    `The columns with a path have more than ${columnCharsMax / 1_000_000} MB on one page. Leave out columns, or request smaller pages.`,
  );

const isShaped = ({ issues, isDeleted }: Candidate): boolean => issues === null && !isDeleted;

const unchanged = (data: JsonObject): JsonObject => data;

const objectOf = (value: unknown): JsonObject | null => (isJsonObject(value) ? { ...value } : null);
