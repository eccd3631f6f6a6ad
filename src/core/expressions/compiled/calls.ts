import type { AstNode } from '../expression.ts';
import { type Compiled, charge } from './evaluation.ts';
import { listFunctions } from './functions-list.ts';
import { numberFunctions } from './functions-number.ts';
import { textFunctions } from './functions-text.ts';
import { clocks, timeFunctions } from './functions-time.ts';
import type { Native } from './native.ts';
import { allow, type Compiler, childOf, childrenOf, refuse, type Scope } from './node.ts';

const natives: ReadonlyMap<string, Native> = new Map(
  Object.entries({ ...textFunctions, ...numberFunctions, ...timeFunctions, ...listFunctions }),
);

/** Further arguments are picture strings, a separate language. */
const argumentsMax: Readonly<Record<string, number>> = { toMillis: 1, fromMillis: 1, now: 0, millis: 0 };

export function compileCall(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  allow(node, 'procedure', 'arguments');
  const args = childrenOf(node, 'arguments').map((child) => compiler.compile(child, scope));
  return compileInvocation(functionNamed(childOf(node, 'procedure'), scope), args, 'input');
}

/** `value ~> $function(…)`, and `value ~> $function`, which sees no context. */
export function compileApply(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  allow(node, 'lhs', 'rhs');
  const first = compiler.compile(childOf(node, 'lhs'), scope);
  const target = childOf(node, 'rhs');
  // JSONata ignores what follows such a call.
  if (target['predicate'] !== undefined) return refuse();
  if (target.type !== 'function') return compileInvocation(functionNamed(target, scope), [first], 'none');
  allow(target, 'procedure', 'arguments');
  const rest = childrenOf(target, 'arguments').map((child) => compiler.compile(child, scope));
  return compileInvocation(functionNamed(childOf(target, 'procedure'), scope), [first, ...rest], 'input');
}

function functionNamed(procedure: AstNode, scope: Scope | null): string {
  const { type, value: name } = procedure;
  if (type !== 'variable' || typeof name !== 'string' || procedure['predicate'] !== undefined) return refuse();
  for (let inner = scope; inner !== null; inner = inner.outer) if (inner.names.has(name)) return refuse();
  return name;
}

function compileInvocation(name: string, args: readonly Compiled[], context: 'input' | 'none'): Compiled {
  if (args.length > (argumentsMax[name] ?? args.length)) return refuse();
  const clock = clocks.get(name);
  if (clock !== undefined) return (_input, evaluation) => clock(evaluation);
  const called = natives.get(name);
  if (called === undefined) return refuse();
  const { signature, call, ofOne } = called;
  const [first] = args;
  if (first === undefined || args.length > 1 || ofOne === null) {
    return (input, evaluation) => {
      charge(evaluation, 1 + args.length);
      const given: unknown[] = args.slice();
      for (let index = 0; index < args.length; index += 1) given[index] = args[index]?.(input, evaluation);
      return call(signature(given, context === 'input' ? input : null), evaluation);
    };
  }
  return (input, evaluation) => {
    charge(evaluation, 2);
    const value = first(input, evaluation);
    if (typeof value === ofOne.type) return ofOne.call(value, evaluation);
    return call(signature([value], context === 'input' ? input : null), evaluation);
  };
}
