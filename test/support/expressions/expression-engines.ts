import { isDeepStrictEqual } from 'node:util';
import { compile } from '../../../src/core/expressions/compiled/compile.ts';
import { InterpreterFallback } from '../../../src/core/expressions/compiled/evaluation.ts';
import { createPlainValues } from '../../../src/core/expressions/compiled/plain-values.ts';
import { createEvaluationScope, see } from '../../../src/core/expressions/compiled-sight.ts';
import type { Bindings, RecordLookups } from '../../../src/core/expressions/evaluation.ts';
import { isNode, parseExpression } from '../../../src/core/expressions/expression.ts';
import { interpretedExpression } from '../../../src/core/expressions/interpreted-expression.ts';
import { plainResult } from '../../../src/core/expressions/plain-result.ts';
import { createScope, withoutNulls } from '../../../src/core/expressions/scope.ts';

/** What an engine makes of one record. */
export type EngineOutcome =
  | { readonly kind: 'value'; readonly value: unknown }
  /** JSONata's code; null for an error without one. */
  | { readonly kind: 'error'; readonly code: string | null }
  /** Only of the compiled form: JSONata itself has to evaluate this record. */
  | { readonly kind: 'left' };

/** One expression over one record, as a transform is given them. */
export interface Case {
  readonly expression: string;
  readonly record: unknown;
  readonly bindings: Bindings;
  readonly own: RecordLookups;
  readonly nulls: 'keep' | 'missing';
}

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

/** Evaluates as a process of the pool does it, from its own parts, but in this process. */
export async function interpret({ expression, record, bindings, own, nulls }: Case): Promise<EngineOutcome> {
  const scope = await createScope()({ expression, nowMs, bindingsText: JSON.stringify(bindings) });
  const bound = own === null ? scope.shared : scope.withOwn(JSON.parse(JSON.stringify(own)));
  const copy: unknown = JSON.parse(JSON.stringify(record) ?? 'null');
  try {
    const input = bound.withTables(nulls === 'missing' ? withoutNulls(copy) : copy);
    const value = await interpretedExpression('o', expression).evaluate(input, bound.bindings);
    const result: Readonly<Record<string, unknown>> = JSON.parse(plainResult(value, { objectOnly: false }));
    return 'code' in result && !('v' in result) ? { kind: 'error', code: null } : { kind: 'value', value: result['v'] };
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : null;
    return { kind: 'error', code };
  }
}

/** Evaluates the compiled form; null when the expression is not one that is compiled. */
export function runCompiled({ expression, record, bindings, own, nulls }: Case): EngineOutcome | null {
  const compiled = compile(expression);
  if (compiled === null) return null;
  const bound = createEvaluationScope({ expression, compiled, bindings, nulls, plainOf: createPlainValues() });
  const given = bound && see(bound, record, own);
  if (given === null) return { kind: 'left' };
  try {
    return { kind: 'value', value: compiled.evaluate(given.root, { bound: given.bound, nowMs }) };
  } catch (error) {
    if (!(error instanceof InterpreterFallback)) throw error;
    return error.code === null ? { kind: 'left' } : { kind: 'error', code: error.code };
  }
}

/**
 * Whether JSONata computes several values at once somewhere, those of an object or of a list: which of their errors
 * comes first is decided by its promises. What users see is JSONata's own error either way.
 */
function computesAtOnce(expression: string): boolean {
  const parsed = parseExpression(expression);
  const pending: unknown[] = parsed.ok ? [parsed.ast] : [];
  for (const node of pending) {
    if (typeof node !== 'object' || node === null) continue;
    if (isNode(node) && node.type === 'unary' && severalIn(node['expressions'] ?? node['lhs'])) return true;
    pending.push(...Object.values(node));
  }
  return false;
}

const severalIn = (items: unknown): boolean => Array.isArray(items) && items.length > 1;

/** Whether the compiled form says what JSONata says, or leaves it to it. */
export function agree({ expression }: Case, compiled: EngineOutcome, interpreted: EngineOutcome): boolean {
  if (compiled.kind === 'left') return true;
  if (compiled.kind === 'value' && interpreted.kind === 'value') {
    return (
      isDeepStrictEqual(compiled.value, interpreted.value) &&
      JSON.stringify(compiled.value) === JSON.stringify(interpreted.value)
    );
  }
  if (compiled.kind === 'error' && interpreted.kind === 'error') {
    return compiled.code === interpreted.code || computesAtOnce(expression);
  }
  return false;
}
