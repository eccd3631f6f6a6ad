import type { Evaluator } from '../../expressions/evaluation.ts';
import { arrayOnPath, compilePlainPath } from '../../expressions/plain-path.ts';

/** Evaluates one expression of a resource over its roots; undefined when it selects nothing. Throws `spec_invalid`. */
export type Evaluate = (expression: string, roots: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** Evaluates plain paths here and everything else in the evaluator; `now` is what `$now()` gives. */
export function createEvaluate(evaluator: Evaluator, now: Date): Evaluate {
  const plainPaths = new Map<string, ReturnType<typeof compilePlainPath>>();
  return async (expression, roots) => {
    let plainPath = plainPaths.get(expression);
    if (plainPath === undefined) {
      plainPath = compilePlainPath(expression);
      plainPaths.set(expression, plainPath);
    }
    const value = plainPath === null ? arrayOnPath : plainPath(roots);
    return value === arrayOnPath ? evaluator.evaluate({ expression, input: mentioned(expression, roots), now }) : value;
  };
}

/** A page is large: only the roots that the expression names travel, unless it walks over all of them. */
function mentioned(expression: string, roots: Readonly<Record<string, unknown>>): unknown {
  if (/\*|\$(?!\w)/.test(expression)) return roots;
  return Object.fromEntries(Object.entries(roots).filter(([name]) => expression.includes(name)));
}
