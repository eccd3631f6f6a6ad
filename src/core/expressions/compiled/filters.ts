import type { AstNode } from '../expression.ts';
import { charge, type Evaluation } from './evaluation.ts';
import type { Compiler, Scope } from './node.ts';
import { refuse } from './node.ts';
import { isList, type List, sequenceOf } from './sequence.ts';
import { isTruthy } from './values.ts';

/** The items that a condition or an index keeps; always a list, perhaps an empty one. */
export type Filter = (value: unknown, evaluation: Evaluation) => List;

export function compileFilter(node: AstNode, compiler: Compiler, scope: Scope | null): Filter {
  if (node.type === 'number') return typeof node.value === 'number' ? itemAt(Math.floor(node.value)) : refuse();
  const condition = compiler.compile(node, scope);
  return (value, evaluation) => {
    const items = listOf(value);
    charge(evaluation, items.length);
    const kept = sequenceOf();
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      const response = condition(item, evaluation);
      const indexes = typeof response === 'number' ? [response] : response;
      if (!isNumbers(indexes)) {
        if (isTruthy(response, evaluation)) kept.push(item);
        continue;
      }
      charge(evaluation, indexes.length);
      for (const wanted of indexes) if (fromStart(Math.floor(wanted), items) === index) kept.push(item);
    }
    return kept;
  };
}

/** From the end if negative; an item that is a list itself gives its items. */
function itemAt(index: number): Filter {
  return (value) => {
    const items = listOf(value);
    const item = items[fromStart(index, items)];
    if (isList(item)) return item;
    return item === undefined ? sequenceOf() : sequenceOf(item);
  };
}

const listOf = (value: unknown): List => (isList(value) ? value : sequenceOf(value));

const fromStart = (index: number, { length }: List): number => (index < 0 ? length + index : index);

const isNumbers = (value: unknown): value is readonly number[] =>
  isList(value) && value.every((item) => typeof item === 'number');
