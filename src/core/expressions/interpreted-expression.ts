import jsonata from 'jsonata';

/** An expression that JSONata itself evaluates; `evaluate` throws its error objects, those of a syntax error too. */
export interface InterpretedExpression {
  evaluate(input: unknown, bindings: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** JSONata's own limits: they end loops and growing sequences with a clear message, before the pool's clock does. */
const limits = { timeout: 1_000, stack: 500, sequence: 100_000 } as const;

/**
 * Text of all cached expressions together; a syntax tree takes about thirty times its text, of a heap of 128 MB. Beyond
 * that all are forgotten: the child may load no package but jsonata, so no LRU cache either.
 */
const cachedLengthMax = 500_000;

const cache = new Map<string, InterpretedExpression>();
let cachedLength = 0;

/** The expression, from this child's cache when it has run before. Parsing it costs about 90 µs for eight fields. */
export function interpretedExpression(expression: string): InterpretedExpression {
  const known = cache.get(expression);
  if (known !== undefined) return known;
  const parsed = parse(expression);
  if (cachedLength + expression.length > cachedLengthMax) {
    cache.clear();
    cachedLength = 0;
  }
  cache.set(expression, parsed);
  cachedLength += expression.length;
  return parsed;
}

function parse(expression: string): InterpretedExpression {
  try {
    return jsonata(expression, limits);
  } catch (error) {
    return { evaluate: () => Promise.reject(error) };
  }
}
