import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import type jsonata from 'jsonata';

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

/** Interpreters in a child; the one of the org that was served longest ago goes. */
const interpretersMax = 8;

/**
 * An expression can change the functions that its interpreter shares with all expressions (`|$sum|$count|`), so each org
 * has one of its own.
 */
interface Interpreter {
  readonly parse: typeof jsonata;
  readonly known: Map<string, InterpretedExpression>;
}

// The file is not readable once the child is ready, nor is code made of other texts.
const file = createRequire(import.meta.url).resolve('jsonata');
const load = compileFunction(readFileSync(file, 'utf8'), ['module', 'exports'], { filename: file });

const interpreters = new Map<string, Interpreter>();
let cachedLength = 0;

/** Cached per child and org: parsing costs about 90 µs for eight fields. */
export function interpretedExpression(orgId: string, expression: string): InterpretedExpression {
  const interpreter = interpreterOf(orgId);
  const known = interpreter.known.get(expression);
  if (known !== undefined) return known;
  const parsed = parse(interpreter, expression);
  if (cachedLength + expression.length > cachedLengthMax) {
    for (const each of interpreters.values()) each.known.clear();
    cachedLength = 0;
  }
  interpreter.known.set(expression, parsed);
  cachedLength += expression.length;
  return parsed;
}

function interpreterOf(orgId: string): Interpreter {
  const held = interpreters.get(orgId) ?? { parse: newInterpreter(), known: new Map() };
  interpreters.delete(orgId);
  interpreters.set(orgId, held);
  const [oldest] = interpreters.keys();
  if (interpreters.size > interpretersMax && oldest !== undefined) interpreters.delete(oldest);
  return held;
}

function newInterpreter(): typeof jsonata {
  const module: { exports: unknown } = { exports: {} };
  load(module, module.exports);
  return module.exports as typeof jsonata;
}

function parse(interpreter: Interpreter, expression: string): InterpretedExpression {
  try {
    return interpreter.parse(expression, limits);
  } catch (error) {
    return { evaluate: () => Promise.reject(error) };
  }
}
