import type { AstNode } from '../expression.ts';
import { type Compiled, charge, chargeText, type Evaluation, fail, handBack } from './evaluation.ts';
import { allow, type Compiler, childOf, refuse, type Scope } from './node.ts';
import { isList, type List } from './sequence.ts';
import { areEqual, finite, isTruthy, textOf } from './values.ts';

type Operator = (left: unknown, right: unknown, evaluation: Evaluation) => unknown;

export function compileBinary(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  allow(node, 'lhs', 'rhs');
  const left = compiler.compile(childOf(node, 'lhs'), scope);
  const right = compiler.compile(childOf(node, 'rhs'), scope);
  if (node.value === 'and') {
    return (input, evaluation) => {
      charge(evaluation, 1);
      return isTruthy(left(input, evaluation), evaluation) && isTruthy(right(input, evaluation), evaluation);
    };
  }
  if (node.value === 'or') {
    return (input, evaluation) => {
      charge(evaluation, 1);
      return isTruthy(left(input, evaluation), evaluation) || isTruthy(right(input, evaluation), evaluation);
    };
  }
  const operator = typeof node.value === 'string' ? operators.get(node.value) : undefined;
  if (operator === undefined) return refuse();
  return (input, evaluation) => {
    charge(evaluation, 1);
    return operator(left(input, evaluation), right(input, evaluation), evaluation);
  };
}

export function compileNegation(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  allow(node, 'expression');
  const operand = compiler.compile(childOf(node, 'expression'), scope);
  return (input, evaluation) => {
    charge(evaluation, 1);
    const value = operand(input, evaluation);
    if (value === undefined) return undefined;
    return typeof value === 'number' ? -value : fail('D1002');
  };
}

const arithmetic =
  (compute: (left: number, right: number) => number): Operator =>
  (left, right) => {
    if (left !== undefined && typeof left !== 'number') return fail('T2001');
    if (right !== undefined && typeof right !== 'number') return fail('T2002');
    return left === undefined || right === undefined ? undefined : finite(compute(left, right));
  };

const comparison =
  (compare: (left: string | number, right: string | number) => boolean): Operator =>
  (left, right) => {
    if (!isComparable(left) || !isComparable(right)) return fail('T2010');
    if (left === undefined || right === undefined) return undefined;
    return typeof left === typeof right ? compare(left, right) : fail('T2009');
  };

const isComparable = (value: unknown): value is string | number | undefined =>
  value === undefined || typeof value === 'string' || typeof value === 'number';

function concatenate(left: unknown, right: unknown, evaluation: Evaluation): string {
  const head = left === undefined ? '' : textOf(left, evaluation);
  const tail = right === undefined ? '' : textOf(right, evaluation);
  chargeText(evaluation, head.length + tail.length);
  return head + tail;
}

function isIn(left: unknown, right: unknown, evaluation: Evaluation): boolean {
  if (left === undefined || right === undefined) return false;
  const items = isList(right) ? right : [right];
  charge(evaluation, items.length);
  if (!items.includes(left)) return false;
  // Object identity differs in the process, which gets copies.
  return typeof left === 'object' && left !== null ? handBack() : true;
}

function range(from: unknown, to: unknown, evaluation: Evaluation): List | undefined {
  if (from !== undefined && !isInteger(from)) return fail('T2003');
  if (to !== undefined && !isInteger(to)) return fail('T2004');
  if (from === undefined || to === undefined || from > to) return undefined;
  const size = to - from + 1;
  if (size > 1e7) return fail('D2014');
  // Beyond safe integers, counting up has no effect.
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return handBack();
  charge(evaluation, size);
  const numbers: List = Array.from({ length: size }, (_unused, index) => from + index);
  numbers.sequence = true;
  return numbers;
}

const isInteger = (value: unknown): value is number => Number.isInteger(value);

const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['+', arithmetic((left, right) => left + right)],
  ['-', arithmetic((left, right) => left - right)],
  ['*', arithmetic((left, right) => left * right)],
  ['/', arithmetic((left, right) => left / right)],
  ['%', arithmetic((left, right) => left % right)],
  ['<', comparison((left, right) => left < right)],
  ['<=', comparison((left, right) => left <= right)],
  ['>', comparison((left, right) => left > right)],
  ['>=', comparison((left, right) => left >= right)],
  ['=', (left, right, evaluation) => left !== undefined && right !== undefined && areEqual(left, right, evaluation)],
  ['!=', (left, right, evaluation) => left !== undefined && right !== undefined && !areEqual(left, right, evaluation)],
  ['&', concatenate],
  ['in', isIn],
  ['..', range],
]);
