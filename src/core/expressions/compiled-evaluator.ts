import { isJsonObject } from '../json/is-json-object.ts';
import { mapWithPauses } from '../work/map-with-pauses.ts';
import { createTextCache } from '../work/text-cache.ts';
import { withBodyFields } from './body-fields.ts';
import { type ResultsOfPage, resultsOfPage } from './compiled/clean-result.ts';
import { type CompiledExpression, compile } from './compiled/compile.ts';
import { createPlainValues } from './compiled/plain-values.ts';
import { type SplitExpression, splitExpression } from './compiled/split.ts';
import { createEvaluationScope, type EvaluationScope, type Given, scopeOfInput, see } from './compiled-sight.ts';
import type { Evaluated, Evaluator } from './evaluation.ts';
import type { EvaluatorPool } from './evaluator-pool.ts';

type Row = Extract<Evaluated, { ok: true }>;

/**
 * Runs compilable expressions here and leaves the rest to `pool`. The rest includes fields of a mapping that cannot be
 * compiled, and records that a compiled expression hands back, such as every error.
 */
export function withCompiledExpressions(pool: EvaluatorPool): EvaluatorPool {
  const compiler: Compiler = {
    compiledOf: createTextCache(compile, kept),
    splitOf: createTextCache(splitExpression, kept),
    plainOf: createPlainValues(),
  };
  return {
    forOrg: (orgId) => compilingEvaluator(pool.forOrg(orgId), compiler),
    counts: () => pool.counts(),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** Caches shared by all orgs. */
interface Compiler {
  readonly compiledOf: (expression: string) => CompiledExpression | null;
  readonly splitOf: (expression: string) => SplitExpression | null;
  readonly plainOf: ReturnType<typeof createPlainValues>;
}

function compilingEvaluator(inner: Evaluator, { compiledOf, splitOf, plainOf }: Compiler): Evaluator {
  return {
    async transform(task) {
      const compiled = compiledOf(task.expression);
      const split = compiled === null ? splitOf(task.expression) : null;
      const part = split?.compiled ?? (compiled === null ? null : { expression: task.expression, compiled });
      const scope = part === null ? null : createEvaluationScope({ ...task, ...part, plainOf });
      if (part === null || scope === null) return inner.transform(task);
      task.signal?.throwIfAborted();
      const { recordLookups = null, now } = task;
      const shaping = { compiled: part.compiled, scope, nowMs: now.getTime(), recordLookups, page: resultsOfPage() };
      const ours = await mapWithPauses(task.records, shaped, shaping);
      const rows = split === null ? ours : await completed(ours, task, { ...split, inner });
      if (areWhole(rows)) return rows;
      return merged(rows, await ask(inner, task, (_value, index) => rows[index] === null));
    },
    async evaluate(task) {
      const compiled = compiledOf(task.expression);
      const given = compiled === null ? null : scopeOfInput(compiled, inputOf(task));
      if (compiled === null || given === null) return await inner.evaluate(task);
      const result = resultOf(compiled, given, { nowMs: task.now.getTime() });
      return result === handedBack ? await inner.evaluate(task) : result;
    },
  };
}

const inputOf = ({ input, seesBodyFields }: Parameters<Evaluator['evaluate']>[0]): unknown =>
  seesBodyFields && isJsonObject(input) ? withBodyFields(input) : input;

type TransformTask = Parameters<Evaluator['transform']>[0];

/** Adds the fields that only JSONata computes; `null` where it fails, as it then needs the whole record. */
async function completed(
  rows: readonly (Row | null)[],
  task: TransformTask,
  { names, rest, inner }: Pick<SplitExpression, 'names' | 'rest'> & { readonly inner: Evaluator },
): Promise<readonly (Row | null)[]> {
  const isOurs = (_value: unknown, index: number): boolean => rows[index] !== null;
  const records = rest.fields === null ? task.records : task.records.map(picker(rest.fields));
  const responses = await ask(inner, { ...task, records, expression: rest.expression }, isOurs);
  let next = 0;
  return rows.map((row): Row | null => {
    const response = row === null ? null : responses[next++];
    if (row === null || !response?.ok) return null;
    const value: Record<string, unknown> = {};
    for (const name of names) {
      const part = Object.hasOwn(row.value, name) ? row.value : response.value;
      if (Object.hasOwn(part, name)) value[name] = part[name];
    }
    return { ok: true, value };
  });
}

const picker =
  (fields: ReadonlySet<string>) =>
  (record: unknown): unknown => {
    if (!isJsonObject(record)) return record;
    const picked: Record<string, unknown> = {};
    for (const name in record) if (fields.has(name)) picked[name] = record[name];
    return picked;
  };

async function ask(
  inner: Evaluator,
  task: TransformTask,
  isWanted: (value: unknown, index: number) => boolean,
): Promise<readonly Evaluated[]> {
  const records = task.records.filter(isWanted);
  const recordLookups = task.recordLookups?.filter(isWanted) ?? null;
  return records.length === 0 ? [] : await inner.transform({ ...task, records, recordLookups });
}

/** Compiling an expression takes about 0.1 ms; a syntax tree takes about thirty times the memory of its text. */
const kept = { textsMax: 500, charactersMax: 500_000 };

interface Shaping {
  readonly compiled: CompiledExpression;
  readonly scope: EvaluationScope;
  readonly nowMs: number;
  readonly recordLookups: TransformTask['recordLookups'];
  readonly page: ResultsOfPage;
}

/** `null` for a record that JSONata itself has to shape. */
function shaped(record: unknown, { compiled, scope, nowMs, recordLookups, page }: Shaping, index: number): Row | null {
  const given = see(scope, record, recordLookups?.[index] ?? null);
  if (given === null) return null;
  const value = resultOf(compiled, given, { nowMs, page });
  return isJsonObject(value) ? { ok: true, value, engine: 'compiled' } : null;
}

const areWhole = (rows: readonly (Row | null)[]): rows is readonly Row[] => !rows.includes(null);

const handedBack: unique symbol = Symbol('handed back');

function resultOf(
  compiled: CompiledExpression,
  { root, bound }: Given,
  of: { readonly nowMs: number; readonly page?: ResultsOfPage },
): unknown {
  try {
    return compiled.evaluate(root, { bound, ...of });
  } catch {
    // Any error but `InterpreterFallback` is our bug; JSONata then still knows the result.
    return handedBack;
  }
}

function merged(rows: readonly (Row | null)[], responses: readonly Evaluated[]): readonly Evaluated[] {
  let next = 0;
  return rows.map((row): Evaluated => {
    const evaluated = row ?? responses[next++];
    if (!evaluated) throw new Error('The evaluator returned fewer records than it was given.');
    return evaluated;
  });
}
