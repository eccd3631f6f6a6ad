import jsonata from 'jsonata';

/** `evaluate` throws JSONata's error objects, those of a syntax error too. */
export interface InterpretedExpression {
  evaluate(input: unknown, bindings: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** JSONata's own limits end loops and growing sequences with a clear message, before the pool's clock does. */
const limits = { timeout: 1_000, stack: 500, sequence: 100_000 } as const;

/**
 * Text of all cached expressions; a syntax tree takes about thirty times its text, of a heap of 128 MB. Above it the
 * cache is cleared: the child may load only jsonata, so it has no LRU cache.
 */
const cachedLengthMax = 500_000;

const cache = new Map<string, InterpretedExpression>();
let cachedLength = 0;

/** Cached per child: parsing costs about 90 µs for eight fields. */
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
