import { blankObject } from '../../json/blank-object.ts';
import type { AstNode } from '../expression.ts';
import { type Compiled, charge, type Evaluation, fail, handBack } from './evaluation.ts';
import { allow, type Compiler, childrenOf, pairsOf, refuse, type Scope } from './node.ts';
import { isReservedName } from './plain-json.ts';
import { isList, type List, sequenceOf } from './sequence.ts';
import { pushAll } from './values.ts';

/** `[…]`: the items of lists join, unless they are written as `[…]` too. */
export function compileArray(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  allow(node, 'expressions');
  const isKeptByPaths = node['consarray'] === true;
  const items = childrenOf(node, 'expressions').map((child) => ({
    compute: compiler.compile(child, scope),
    isArray: child.value === '[',
  }));
  return (input, evaluation) => {
    charge(evaluation, items.length);
    const list: List = [];
    for (const { compute, isArray } of items) {
      const value = compute(input, evaluation);
      if (value === undefined) continue;
      if (isList(value) && !isArray) pushAll(list, value, evaluation);
      else list.push(value);
    }
    if (isKeptByPaths) list.cons = true;
    return list;
  };
}

interface Pair {
  readonly key: Compiled;
  readonly compute: Compiled;
}

export function compileObject(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  allow(node, 'lhs');
  const nodes = pairsOf(node);
  const pairs = nodes.map(
    ([key, value]): Pair => ({
      key: compiler.compile(key, scope),
      compute: compiler.compile(value, scope),
    }),
  );
  const names = nodes.map(([key]) => literalName(key));
  const fixed = names.flatMap((name, index): Field[] => {
    const compute = pairs[index]?.compute;
    return name === null || compute === undefined ? [] : [{ name, compute }];
  });
  const isFixed = fixed.length === nodes.length && new Set(names).size === nodes.length;
  // Dropped once a field has no value, as the objects made here then differ.
  let blank = isFixed ? blankObject(fixed.map(({ name }) => name)) : null;
  return (input, evaluation) => {
    charge(evaluation, nodes.length);
    if (isList(input)) return groupItems(pairs, input, evaluation);
    const object: Record<string, unknown> = { ...blank };
    const fields = isFixed ? fixed : named(pairs, input, evaluation);
    if (fill(object, { fields, context: input, evaluation }) || blank === null) return object;
    blank = null;
    return withoutUndefined(object);
  };
}

function literalName(key: AstNode): string | null {
  if (key.type !== 'string' || typeof key.value !== 'string' || key['predicate'] !== undefined) return null;
  return isReservedName(key.value) ? refuse() : key.value;
}

interface Field {
  readonly name: string;
  readonly compute: Compiled;
}

interface Filling {
  readonly fields: readonly Field[];
  readonly context: unknown;
  readonly evaluation: Evaluation;
}

/** Sets a field to `undefined` only where it exists already; `false` if a field has no value. */
function fill(object: Record<string, unknown>, { fields, context, evaluation }: Filling): boolean {
  let isComplete = true;
  for (let index = 0; index < fields.length; index += 1) {
    const field = fields[index];
    if (field === undefined) continue;
    const value = field.compute(context, evaluation);
    if (value === undefined) isComplete = false;
    if (value !== undefined || Object.hasOwn(object, field.name)) object[field.name] = value;
  }
  return isComplete;
}

function withoutUndefined(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const rest: Record<string, unknown> = {};
  for (const name in object) if (object[name] !== undefined) rest[name] = object[name];
  return rest;
}

/** Computes all keys before any value. */
function named(pairs: readonly Pair[], context: unknown, evaluation: Evaluation): readonly Field[] {
  const fields = new Map<string, Compiled>();
  for (const { key, compute } of pairs) {
    const name = nameOf(key(context, evaluation));
    if (name === undefined) continue;
    if (fields.has(name)) return fail('D1009');
    fields.set(name, compute);
  }
  return Array.from(fields, ([name, compute]) => ({ name, compute }));
}

function nameOf(key: unknown): string | undefined {
  if (key === undefined) return undefined;
  if (typeof key !== 'string') return fail('T1003');
  return isReservedName(key) ? handBack() : key;
}

/** Groups a list as context: items with the same key from the same pair together are the context of its value. */
function groupItems(pairs: readonly Pair[], items: List, evaluation: Evaluation): Readonly<Record<string, unknown>> {
  // JSONata then puts an item into the record's own empty list.
  if (items.length === 0) return handBack();
  const groups = new Map<string, { readonly pair: Pair; data: unknown }>();
  for (const item of items) {
    charge(evaluation, pairs.length);
    for (const pair of pairs) {
      const name = nameOf(pair.key(item, evaluation));
      if (name === undefined) continue;
      const group = groups.get(name);
      if (group === undefined) groups.set(name, { pair, data: item });
      else if (group.pair === pair) group.data = joined(group.data, item, evaluation);
      else return fail('D1009');
    }
  }
  // JSONata computes all values at once and limits their number.
  if (groups.size > pairs.length) return handBack();
  const object: Record<string, unknown> = {};
  for (const [name, { pair, data }] of groups) {
    const value = pair.compute(data, evaluation);
    if (value !== undefined) object[name] = value;
  }
  return object;
}

/** Joins both into one plain list; returns the other if one is `undefined`. */
export function joined(first: unknown, second: unknown, evaluation: Evaluation): unknown {
  if (first === undefined) return second;
  if (second === undefined) return first;
  const list: List = [];
  pushAll(list, isList(first) ? first : sequenceOf(first), evaluation);
  pushAll(list, isList(second) ? second : [second], evaluation);
  return list;
}
