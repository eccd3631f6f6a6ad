import { withBodyFields } from '../../expressions/body-fields.ts';
import type { Evaluator } from '../../expressions/evaluation.ts';
import { arrayOnPath, compilePlainPath } from '../../expressions/plain-path.ts';

/**
 * Evaluates over the roots, and the fields of `body` if it sees them, to `undefined` if nothing is selected; throws
 * `spec_invalid`.
 */
export type Evaluate = (
  expression: string,
  roots: Readonly<Record<string, unknown>>,
  options?: { readonly seesBodyFields: boolean },
) => Promise<unknown>;

/** Evaluates plain paths here and everything else in the evaluator, with `now` for `$now()`. */
export function createEvaluate(evaluator: Evaluator, now: Date): Evaluate {
  const plainPaths = new Map<string, ReturnType<typeof compilePlainPath>>();
  return async (expression, roots, { seesBodyFields } = { seesBodyFields: false }) => {
    let plainPath = plainPaths.get(expression);
    if (plainPath === undefined) {
      plainPath = compilePlainPath(expression);
      plainPaths.set(expression, plainPath);
    }
    const seen = seesBodyFields ? withBodyFields(roots) : roots;
    const value = plainPath === null ? arrayOnPath : plainPath(seen);
    if (value !== arrayOnPath) return value;
    const input = mentioned(expression, seen);
    // The body has its fields, so it is sent once.
    return seesBodyFields && Object.hasOwn(input, 'body')
      ? evaluator.evaluate({ expression, input: mentioned(expression, roots), now, seesBodyFields })
      : evaluator.evaluate({ expression, input, now });
  };
}

/** A page is large, so only the roots that the expression names are sent, unless it walks over all of them. */
function mentioned(expression: string, roots: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (/\*|\$(?!\w)/.test(expression)) return roots;
  return Object.fromEntries(Object.entries(roots).filter(([name]) => expression.includes(name)));
}
