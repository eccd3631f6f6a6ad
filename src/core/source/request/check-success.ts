import { AppError } from '../../errors.ts';
import type { Evaluate } from './evaluate.ts';

/** Throws `source_rejected` if `expression`, a `successWhen`, is not true: the body reports a failure. */
export async function checkSuccess(
  expression: string | undefined,
  roots: { readonly body: unknown; readonly status: number },
  evaluate: Evaluate,
): Promise<void> {
  if (expression === undefined || (await evaluate(expression, { ...roots }, { seesBodyFields: true })) === true) return;
  const message = `The API responded with ${roots.status}, but successWhen is not true: the body reports a failure.`;
  throw new AppError('source_rejected', message);
}
