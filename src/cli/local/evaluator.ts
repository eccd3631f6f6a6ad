import { withCompiledExpressions } from '../../core/expressions/compiled-evaluator.ts';
import type { Evaluator } from '../../core/expressions/evaluation.ts';
import { createEvaluatorPool } from '../../core/expressions/evaluator-pool.ts';

/** Disposing ends its child processes. */
export function openEvaluator(): Evaluator & AsyncDisposable {
  const pool = withCompiledExpressions(createEvaluatorPool({ size: 2 }));
  return { ...pool.forOrg('local'), [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose]() };
}
