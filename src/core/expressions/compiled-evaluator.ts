import { mapWithPauses } from '../pipeline/pauses.ts';
import { type CompiledExpression, compile } from './compiled/compile.ts';
import { createPlainValues } from './compiled/plain-values.ts';
import { type SplitExpression, splitExpression } from './compiled/split.ts';
import { isObject } from './compiled/values.ts';
import { createSight, type Sight, sightOfInput } from './compiled-sight.ts';
import type { Evaluated, Evaluator } from './evaluator-pool.ts';

type Row = Extract<Evaluated, { ok: true }>;

/**
 * An evaluator that runs the expressions that can be compiled itself, and leaves everything else to `inner`: other
 * expressions, fields of a mapping that cannot be compiled, and single records on which a compiled one hands back, with
 * every error among them.
 */
export function withCompiledExpressions(inner: Evaluator): Evaluator {
  const compiledOf = createCache(compile);
  const splitOf = createCache(splitExpression);
  const plainOf = createPlainValues();
  return {
    async transform(task) {
      const compiled = compiledOf(task.expression);
      const split = compiled === null ? splitOf(task.expression) : null;
      const part = split?.compiled ?? (compiled === null ? null : { expression: task.expression, compiled });
      const sight = part === null ? null : createSight({ ...task, ...part, plainOf });
      if (part === null || sight === null) return inner.transform(task);
      task.signal?.throwIfAborted();
      const { recordLookups = null, now } = task;
      const inputs = task.records.map((record, index) => ({ record, own: recordLookups?.[index] ?? null }));
      const shape = createShape(part.compiled, sight, now.getTime());
      const ours = await mapWithPauses(inputs, shape);
      const rows = split === null ? ours : await completed(ours, task, { ...split, inner });
      return merged(rows, await ask(inner, task, (_value, index) => rows[index] === null));
    },
    async evaluate(task) {
      const compiled = compiledOf(task.expression);
      const given = compiled === null ? null : sightOfInput(compiled, task.input);
      if (compiled === null || given === null) return await inner.evaluate(task);
      const result = orHandedBack(() =>
        compiled.evaluate(given.root, { bound: given.bound, nowMs: task.now.getTime() }),
      );
      return result === handedBack ? await inner.evaluate(task) : result;
    },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

type TransformTask = Parameters<Evaluator['transform']>[0];

/** The rows with the fields that only JSONata computes; null where it fails, as it then has to see the whole record. */
async function completed(
  rows: readonly (Row | null)[],
  task: TransformTask,
  { names, rest, inner }: Pick<SplitExpression, 'names' | 'rest'> & { readonly inner: Evaluator },
): Promise<readonly (Row | null)[]> {
  const isOurs = (_value: unknown, index: number): boolean => rows[index] !== null;
  const records = rest.fields === null ? task.records : task.records.map(picker(rest.fields));
  const answers = await ask(inner, { ...task, records, expression: rest.expression }, isOurs);
  let next = 0;
  return rows.map((row): Row | null => {
    const answer = row === null ? null : answers[next++];
    if (row === null || !answer?.ok) return null;
    const value: Record<string, unknown> = {};
    for (const name of names) {
      const part = Object.hasOwn(row.value, name) ? row.value : answer.value;
      if (Object.hasOwn(part, name)) value[name] = part[name];
    }
    return { ok: true, value };
  });
}

/** Of an object, these fields, in its own order. */
const picker =
  (fields: ReadonlySet<string>) =>
  (record: unknown): unknown => {
    if (!isObject(record)) return record;
    const picked: Record<string, unknown> = {};
    for (const name in record) if (fields.has(name)) picked[name] = record[name];
    return picked;
  };

/** What `inner` answers for some of the records. */
async function ask(
  inner: Evaluator,
  task: TransformTask,
  isAsked: (value: unknown, index: number) => boolean,
): Promise<readonly Evaluated[]> {
  const records = task.records.filter(isAsked);
  const recordLookups = task.recordLookups?.filter(isAsked) ?? null;
  return records.length === 0 ? [] : await inner.transform({ ...task, records, recordLookups });
}

/** Expressions kept; compiling one takes about 0.1 ms. */
const cachedMax = 500;

function createCache<Made>(make: (expression: string) => Made | null): (expression: string) => Made | null {
  const cache = new Map<string, Made | null>();
  return (expression) => {
    const known = cache.get(expression);
    if (known !== undefined) return known;
    const made = make(expression);
    if (cache.size >= cachedMax) cache.clear();
    cache.set(expression, made);
    return made;
  };
}

/** Makes the function that takes a record to its row; null for one that JSONata itself has to shape. */
function createShape(
  compiled: CompiledExpression,
  sight: Sight,
  nowMs: number,
): (input: { readonly record: unknown; readonly own: Parameters<Sight>[1] }) => Row | null {
  return ({ record, own }) => {
    const given = sight(record, own);
    if (given === null) return null;
    const value = orHandedBack(() => compiled.evaluate(given.root, { bound: given.bound, nowMs }));
    return isObject(value) ? { ok: true, value, engine: 'compiled' } : null;
  };
}

const handedBack: unique symbol = Symbol('handed back');

function orHandedBack(evaluate: () => unknown): unknown {
  try {
    return evaluate();
  } catch {
    // Should it be anything but `HandedBack`, a fault of ours, then JSONata still knows the answer.
    return handedBack;
  }
}

/** The answers take the places that the rows leave. */
function merged(rows: readonly (Row | null)[], answers: readonly Evaluated[]): readonly Evaluated[] {
  let next = 0;
  return rows.map((row): Evaluated => {
    const evaluated = row ?? answers[next++];
    if (!evaluated) throw new Error('The evaluator answered fewer records than it was asked.');
    return evaluated;
  });
}
