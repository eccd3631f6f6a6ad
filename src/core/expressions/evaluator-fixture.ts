/** For tests that know one org only: an evaluator with its own pool. */
import { type Bindings, type Evaluator, type RecordLookups } from './evaluation.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

export type TestEvaluator = Evaluator & AsyncDisposable;

export function createTestEvaluator(options: { readonly size?: number } = {}): TestEvaluator {
  const pool = createEvaluatorPool(options);
  return { ...pool.forOrg('org_of_the_test'), [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose]() };
}

interface Task {
  readonly timeoutMs?: number;
  readonly records?: readonly unknown[];
  readonly bindings?: Bindings;
  readonly nulls?: 'keep' | 'missing';
  readonly recordLookups?: readonly RecordLookups[];
  readonly signal?: AbortSignal;
}

export const transformer =
  (pool: Pick<Evaluator, 'transform'>, now: Date) =>
  (expression: string, { records = [{}], bindings = {}, nulls = 'keep', ...rest }: Task = {}) =>
    pool.transform({ expression, records, bindings, now, nulls, ...rest });
