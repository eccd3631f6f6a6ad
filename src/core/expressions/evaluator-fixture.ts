/** For tests that know one org only: an evaluator with a pool of its own. */
import { type Bindings, type Evaluator, type RecordLookups } from './evaluation.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

/** Disposing ends the children. */
export type TestEvaluator = Evaluator & AsyncDisposable;

/** Starts nothing before it is first needed. */
export function createTestEvaluator(options: { readonly size?: number } = {}): TestEvaluator {
  const pool = createEvaluatorPool(options);
  return { ...pool.forOrg('org_of_the_test'), [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose]() };
}

/** What a test gives besides the expression; one empty record unless it says otherwise. */
interface Task {
  readonly timeoutMs?: number;
  readonly records?: readonly unknown[];
  readonly bindings?: Bindings;
  readonly nulls?: 'keep' | 'missing';
  readonly recordLookups?: readonly RecordLookups[];
  readonly signal?: AbortSignal;
}

/** Transforms records in that pool, with the clock at that time. */
export const transformer =
  (pool: Pick<Evaluator, 'transform'>, now: Date) =>
  (expression: string, { records = [{}], bindings = {}, nulls = 'keep', ...rest }: Task = {}) =>
    pool.transform({ expression, records, bindings, now, nulls, ...rest });
