/**
 * Compiles plain expressions, most of a spec, to closures: fields, conditions, arithmetic, a few functions of texts and
 * numbers. The closures run in this process, about ten times faster than jsonata there. No text becomes code;
 * recursion, user-defined functions and patterns are not compiled. Each evaluation has a limited allowance of work, so
 * it cannot take long or grow large.
 *
 * The results are exactly those of JSONata. A record is handed back if its evaluation fails, exceeds the allowance or
 * depends on a detail that only JSONata knows. The evaluator's processes then find the same error and report it.
 */
import { type AstNode, parseExpression } from '../expression.ts';
import { knownFunctions, refusedFunctions } from '../jsonata-functions.ts';
import { compileApply, compileCall } from './calls.ts';
import { cleanResult, type ResultsOfPage } from './clean-result.ts';
import { compileArray, compileObject } from './constructors.ts';
import { depthOf } from './depth.ts';
import { allowanceMax, type Compiled, charge, type Evaluation } from './evaluation.ts';
import { compileFilter } from './filters.ts';
import { allow, type Compiler, childOf, childrenOf, filtersOf, NotCompiled, refuse, type Scope } from './node.ts';
import { compileBinary, compileNegation } from './operators.ts';
import { compilePath, isCollapsedPath } from './paths.ts';
import { collapse } from './sequence.ts';
import { isTruthy } from './values.ts';

export interface CompiledExpression {
  /** Names that must be bound, without `$`, except functions of JSONata. */
  readonly variables: readonly string[];
  /** Plain JSON without the marks of sequences; `undefined` when it selects nothing. Throws `InterpreterFallback`. */
  evaluate(root: unknown, given: Inputs): unknown;
}

interface Inputs {
  readonly bound: readonly unknown[];
  readonly nowMs: number;
  /** Shared by the results of the record's page; absent when it is evaluated alone. */
  readonly page?: ResultsOfPage;
}

/** JSONata's own limit is 500 (interpreted-expression.ts). */
const depthMax = 500;
/** UTF-16 units; a longer expression is rarely plain. */
const textLengthMax = 16_384;

/** `null` when only JSONata itself evaluates the expression or reports its error. */
export function compile(text: string): CompiledExpression | null {
  if (text.length > textLengthMax) return null;
  const parsed = parseExpression(text);
  return parsed.ok ? compileTree(parsed.ast) : null;
}

function compileTree(ast: AstNode): CompiledExpression | null {
  const variables: string[] = [];
  let slots = 0;
  const compiler: Compiler = {
    compile: (node, scope) => compileNode(node, compiler, scope),
    newSlot: () => slots++,
    indexOf: (variable) => {
      const index = variables.indexOf(variable);
      return index === -1 ? variables.push(variable) - 1 : index;
    },
  };
  try {
    if (depthOf(ast) > depthMax) return null;
    const compiled = compiler.compile(ast, null);
    return { variables, evaluate: (root, given) => run(compiled, root, given) };
  } catch (error) {
    if (error instanceof NotCompiled || error instanceof RangeError) return null;
    throw error;
  }
}

function run(compiled: Compiled, root: unknown, { bound, nowMs, page }: Inputs): unknown {
  const evaluation: Evaluation = {
    root,
    bound,
    nowMs,
    slots: [],
    allowance: allowanceMax,
  };
  const result = compiled(root, evaluation);
  return result === undefined ? undefined : cleanResult(result, evaluation, page);
}

function compileNode(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  const core = compileCore(node, compiler, scope);
  const filters = filtersOf(node, 'predicate').map((filter) => compileFilter(filter, compiler, scope));
  const keepArray = node['keepArray'] === true;
  if (filters.length === 0) {
    if (neverSequences.has(node.type) || isCollapsedPath(node)) return core;
    return (input, evaluation) => collapse(core(input, evaluation), keepArray);
  }
  return (input, evaluation) => {
    let result = core(input, evaluation);
    for (const filter of filters) result = filter(result, evaluation);
    return collapse(result, keepArray);
  };
}

const neverSequences: ReadonlySet<string> = new Set(['string', 'number', 'value', 'unary']);

function compileCore(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  switch (node.type) {
    case 'string':
    case 'number':
    case 'value':
      return compileLiteral(node);
    case 'path':
      return compilePath(node, compiler, scope);
    case 'variable':
      return compileVariable(node, compiler, scope);
    case 'binary':
      return compileBinary(node, compiler, scope);
    case 'unary':
      return compileUnary(node, compiler, scope);
    case 'function':
      return compileCall(node, compiler, scope);
    case 'apply':
      return compileApply(node, compiler, scope);
    case 'condition':
      return compileCondition(node, compiler, scope);
    case 'block':
      return compileBlock(node, compiler, scope);
    default:
      return refuse();
  }
}

function compileLiteral(node: AstNode): Compiled {
  allow(node);
  const { value } = node;
  return () => value;
}

function compileUnary(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  if (node.value === '{') return compileObject(node, compiler, scope);
  return node.value === '[' ? compileArray(node, compiler, scope) : compileNegation(node, compiler, scope);
}

function compileCondition(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  allow(node, 'condition', 'then', 'else');
  const condition = compiler.compile(childOf(node, 'condition'), scope);
  const yes = compiler.compile(childOf(node, 'then'), scope);
  const no = node['else'] === undefined ? () => undefined : compiler.compile(childOf(node, 'else'), scope);
  return (input, evaluation) => {
    charge(evaluation, 1);
    return isTruthy(condition(input, evaluation), evaluation) ? yes(input, evaluation) : no(input, evaluation);
  };
}

/** Only the statements of a block bind names: elsewhere the order is internal to JSONata. */
function compileBlock(node: AstNode, compiler: Compiler, outer: Scope | null): Compiled {
  allow(node, 'expressions');
  const scope: Scope = { names: new Map(), outer };
  const statements = childrenOf(node, 'expressions').map((child) =>
    child.type === 'bind' ? compileBinding(child, compiler, scope) : compiler.compile(child, scope),
  );
  return (input, evaluation) => {
    charge(evaluation, statements.length);
    let result: unknown;
    for (const statement of statements) result = statement(input, evaluation);
    return result;
  };
}

function compileBinding(node: AstNode, compiler: Compiler, scope: Scope): Compiled {
  allow(node, 'lhs', 'rhs');
  const { value: name } = childOf(node, 'lhs');
  const compute = compiler.compile(childOf(node, 'rhs'), scope);
  if (typeof name !== 'string' || node['predicate'] !== undefined) return refuse();
  const slot = compiler.newSlot();
  // Only now: in the value itself, this name means the earlier binding.
  scope.names.set(name, slot);
  const keepArray = node['keepArray'] === true;
  return (input, evaluation) => {
    const value = compute(input, evaluation);
    evaluation.slots[slot] = value;
    return collapse(value, keepArray);
  };
}

/** A name that a table may have (scope.ts); only the expression itself can bind others. */
const boundName = /^[A-Za-z_]\w{0,62}$/;

function compileVariable(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  allow(node);
  const { value: name } = node;
  if (name === '') return (input) => input;
  if (name === '$') return (_input, { root }) => root;
  if (typeof name !== 'string') return refuse();
  for (let inner = scope; inner !== null; inner = inner.outer) {
    const slot = inner.names.get(name);
    if (slot !== undefined) return (_input, { slots }) => slots[slot];
  }
  if (!boundName.test(name) || (isFunctionName(name) && name !== 'each')) return refuse();
  const index = compiler.indexOf(name);
  return (_input, { bound }) => bound[index];
}

/** Only JSONata handles functions as values; `$each` is one only where the caller binds no `each`. */
const isFunctionName = (name: string): boolean => knownFunctions.has(name) || refusedFunctions.has(name);
