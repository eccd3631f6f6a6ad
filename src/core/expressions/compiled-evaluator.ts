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
  const evaluator: Evaluator = {
    async transform(task) {
      const compiled = compiledOf(task.expression);
      const split = compiled === null ? splitOf(task.expression) : null;
      const part = split?.compiled ?? (compiled === null ? null : { expression: task.expression, compiled });
      const sight = part === null ? null : createSight({ ...task, ...part, plainOf });
      if (part === null || sight === null) return inner.transform(task);
      if (split !== null) return transformInParts(task, split, { evaluator, inner });
      task.signal?.throwIfAborted();
      const { recordLookups = null, now } = task;
      const inputs = task.records.map((record, index) => ({ record, own: recordLookups?.[index] ?? null }));
      const shape = createShape(part.compiled, sight, now.getTime());
      return withTheRest(await mapWithPauses(inputs, shape), task, inner);
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
  return evaluator;
}

type TransformTask = Parameters<Evaluator['transform']>[0];

/** Both parts at once; a record on which one fails is left to JSONata as a whole, which knows the error to name. */
async function transformInParts(
  task: TransformTask,
  { names, compiled, rest }: SplitExpression,
  { evaluator, inner }: { readonly evaluator: Evaluator; readonly inner: Evaluator },
): Promise<readonly Evaluated[]> {
  const [ours, theirs] = await Promise.all([
    evaluator.transform({ ...task, expression: compiled.expression }),
    inner.transform({ ...task, expression: rest }),
  ]);
  const rows = ours.map((own, index): Row | null => {
    const other = theirs[index];
    if (!own.ok || own.engine !== 'compiled' || !other?.ok) return null;
    const both = { ...own.value, ...other.value };
    const inOrder = names.filter((name) => Object.hasOwn(both, name)).map((name) => [name, both[name]]);
    return { ok: true, value: Object.fromEntries(inOrder) };
  });
  return withTheRest(rows, task, inner);
}

/** The rows that there are, and JSONata's answers for the other records. */
async function withTheRest(
  rows: readonly (Row | null)[],
  task: TransformTask,
  inner: Evaluator,
): Promise<readonly Evaluated[]> {
  const isLeft = (_value: unknown, index: number): boolean => rows[index] === null;
  const records = task.records.filter(isLeft);
  const recordLookups = task.recordLookups?.filter(isLeft) ?? null;
  return merged(rows, records.length === 0 ? [] : await inner.transform({ ...task, records, recordLookups }));
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
