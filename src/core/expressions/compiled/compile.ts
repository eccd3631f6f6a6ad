/**
 * Compiles plain expressions to closures: fields, conditions, arithmetic, a few functions of texts and numbers. Most
 * expressions of a spec are plain. The input is jsonata's own syntax tree; the closures run in this process, about ten
 * times faster than jsonata there. No text becomes code; there is no recursion, no user-defined function, no pattern.
 * Each evaluation has a limited allowance of work, so it cannot take long or grow large.
 *
 * The results are exactly those of JSONata. If an evaluation ends in an error, exceeds the allowance or depends on a
 * detail that only JSONata knows, the record is handed back. It then goes through the evaluator's processes, which find
 * the same error and report it. An expression with any other part is not compiled at all.
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

/** An expression that runs in this process. */
export interface CompiledExpression {
  /** The names that must be bound, without `$`, except functions of JSONata. */
  readonly variables: readonly string[];
  /**
   * The result for one record: plain JSON and no list; undefined when it selects nothing. Throws `InterpreterFallback`.
   */
  evaluate(root: unknown, given: Inputs): unknown;
}

interface Inputs {
  readonly bound: readonly unknown[];
  readonly nowMs: number;
  /** What results the page of the record may still have; absent: it is evaluated alone. */
  readonly page?: ResultsOfPage;
}

/** JSONata's own limit is 500 (interpreted-expression.ts). */
const depthMax = 500;
/** UTF-16 units; a longer expression is rarely a plain one. */
const textLengthMax = 16_384;

/** Compiles an expression; null: only JSONata itself evaluates it or reports its error. */
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

/** A node with its square brackets; a sequence then collapses. */
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

/** A block, whose statements alone bind names: elsewhere the order is internal to JSONata. */
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
  // From here on: in the value itself, this name means the earlier binding.
  scope.names.set(name, slot);
  const keepArray = node['keepArray'] === true;
  return (input, evaluation) => {
    const value = compute(input, evaluation);
    evaluation.slots[slot] = value;
    return collapse(value, keepArray);
  };
}

/** A name that a table may have (scope.ts); others are bound by the expression or by nobody. */
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

/**
 * Whether a name is that of a function: only JSONata handles functions as values. `$each` is one only where the caller
 * binds no `each`.
 */
const isFunctionName = (name: string): boolean => knownFunctions.has(name) || refusedFunctions.has(name);
