import { mapWithPauses } from '../pipeline/pauses.ts';
import { type CompiledMapping, compileMapping, needsJsonata } from './compiled-mapping.ts';
import type { Evaluated, Evaluator } from './evaluator-pool.ts';

/**
 * An evaluator that does plain mappings itself and leaves everything else to `inner`: whole expressions, and single
 * records of a plain mapping on which only JSONata knows the result.
 */
export function withCompiledMappings(inner: Evaluator): Evaluator {
  const cache = new Map<string, CompiledMapping | null>();
  const mappingOf = (expression: string, nulls: 'keep' | 'missing'): CompiledMapping | null => {
    const key = `${nulls} ${expression}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const mapping = compileMapping(expression, { nulls });
    if (cache.size >= cachedMax) cache.clear();
    cache.set(key, mapping);
    return mapping;
  };
  return {
    async transform(task) {
      const mapping = task.expression.length > expressionLengthMax ? null : mappingOf(task.expression, task.nulls);
      if (mapping === null) return inner.transform(task);
      const rows = await mapWithPauses(task.records, mapping);
      const { recordLookups = null } = task;
      const isLeft = (_value: unknown, index: number): boolean => rows[index] === needsJsonata;
      const left = { records: task.records.filter(isLeft), recordLookups: recordLookups?.filter(isLeft) ?? null };
      const answers = left.records.length === 0 ? [] : await inner.transform({ ...task, ...left });
      let next = 0;
      return rows.map((row): Evaluated => {
        if (row !== needsJsonata) return { ok: true, value: row };
        const answer = answers[next++];
        if (!answer) throw new Error('The evaluator answered fewer records than it was asked.');
        return answer;
      });
    },
    evaluate: (task) => inner.evaluate(task),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

/** Compiled expressions kept; compiling one takes about 0.1 ms. */
const cachedMax = 500;
/** A plain mapping is short; what is longer is not even parsed here, UTF-16 units. */
const expressionLengthMax = 16_384;
