/** For tests that know one org only: an evaluator with a pool of its own. */
import { type Evaluator } from './evaluation.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

/** Disposing ends the children. */
export type TestEvaluator = Evaluator & AsyncDisposable;

/** Starts nothing before it is first needed. */
export function createTestEvaluator(options: { readonly size?: number } = {}): TestEvaluator {
  const pool = createEvaluatorPool(options);
  return { ...pool.forOrg('org_of_the_test'), [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose]() };
}
