import { mapWithPauses } from '../pipeline/pauses.ts';
import { type CompiledExpression, compile } from './compiled/compile.ts';
import { createPlainValues } from './compiled/plain-values.ts';
import { isObject } from './compiled/values.ts';
import { createSight, type Sight, sightOfInput } from './compiled-sight.ts';
import type { Evaluated, Evaluator } from './evaluator-pool.ts';

type Row = Extract<Evaluated, { ok: true }>;

/**
 * An evaluator that runs the expressions that can be compiled itself, and leaves everything else to `inner`: other
 * expressions, and single records on which a compiled one hands back, with every error among them.
 */
export function withCompiledExpressions(inner: Evaluator): Evaluator {
  const compiledOf = createCache();
  const plainOf = createPlainValues();
  return {
    async transform(task) {
      const compiled = compiledOf(task.expression);
      const sight = compiled === null ? null : createSight({ ...task, compiled, plainOf });
      if (compiled === null || sight === null) return inner.transform(task);
      task.signal?.throwIfAborted();
      const { recordLookups = null, now } = task;
      const inputs = task.records.map((record, index) => ({ record, own: recordLookups?.[index] ?? null }));
      const shape = createShape(compiled, sight, now.getTime());
      const rows = await mapWithPauses(inputs, shape);
      const isLeft = (_value: unknown, index: number): boolean => rows[index] === null;
      const left = { records: task.records.filter(isLeft), recordLookups: recordLookups?.filter(isLeft) ?? null };
      const answers = left.records.length === 0 ? [] : await inner.transform({ ...task, ...left });
      return merged(rows, answers);
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

/** Expressions kept; compiling one takes about 0.1 ms. */
const cachedMax = 500;

function createCache(): typeof compile {
  const cache = new Map<string, CompiledExpression | null>();
  return (expression) => {
    const known = cache.get(expression);
    if (known !== undefined) return known;
    const compiled = compile(expression);
    if (cache.size >= cachedMax) cache.clear();
    cache.set(expression, compiled);
    return compiled;
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
