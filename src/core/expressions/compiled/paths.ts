import type { AstNode } from '../../spec/expression.ts';
import { type Compiled, charge, type Evaluation, handBack } from './evaluation.ts';
import { compileFilter, type Filter } from './filters.ts';
import { allow, type Compiler, childrenOf, filtersOf, refuse, type Scope } from './node.ts';
import { isList, type List, sequenceOf, settle } from './sequence.ts';
import { fieldOf, pushAll } from './values.ts';

interface Step {
  readonly run: Compiled;
  readonly stages: readonly Filter[];
}

/** A path: each step over each item that the step before gave. */
export function compilePath(node: AstNode, compiler: Compiler, scope: Scope | null): Compiled {
  allow(node, 'steps', 'keepSingletonArray');
  const nodes = childrenOf(node, 'steps');
  const [first] = nodes;
  if (first === undefined) return refuse();
  const steps = nodes.map(
    (step): Step => ({
      run: step.type === 'name' ? compileName(step) : compiler.compile(step, scope),
      stages: filtersOf(step, 'stages').map((filter) => compileFilter(filter, compiler, scope)),
    }),
  );
  const general = walk(steps, {
    isAbsolute: first.type === 'variable',
    startsWithList: first['consarray'] === true,
    keepArray: node['keepSingletonArray'] === true,
  });
  const start = plainStart(first, compiler, scope);
  const names = (start === null ? nodes : nodes.slice(1)).map(plainName);
  return names.every((name) => name !== null) ? compileFields(start ?? context, names, general) : general;
}

/** The variable that the path begins with and nothing more; null: it begins with a field. */
const plainStart = (step: AstNode, compiler: Compiler, scope: Scope | null): Compiled | null =>
  step.type === 'variable' && !step['predicate'] && !step['stages'] && !step['keepArray']
    ? compiler.compile(step, scope)
    : null;

const context: Compiled = (input) => input;

/** The name of a step that is nothing but a name. */
const plainName = (step: AstNode): string | null =>
  step.type === 'name' && typeof step.value === 'string' && step['stages'] === undefined && !step['keepArray']
    ? step.value
    : null;

function compileName(node: AstNode): Compiled {
  allow(node);
  const { value: name } = node;
  if (typeof name !== 'string') return refuse();
  const keepArray = node['keepArray'] === true;
  return (input, evaluation) => settle(fieldOf(input, name, evaluation), keepArray);
}

/** The commonest of all: fields of objects. Where a list stands on the way, the general form takes over. */
function compileFields(start: Compiled, names: readonly string[], general: Compiled): Compiled {
  return (input, evaluation) => {
    charge(evaluation, names.length);
    let value = start(input, evaluation);
    for (const name of names) {
      if (typeof value !== 'object' || value === null) return undefined;
      if (Array.isArray(value)) return general(input, evaluation);
      if (!Object.hasOwn(value, name)) return undefined;
      value = (value as Readonly<Record<string, unknown>>)[name];
    }
    return isList(value) && value.sequence === true ? general(input, evaluation) : value;
  };
}

interface PathOptions {
  /** Begins with a variable: the context is not walked over. */
  readonly isAbsolute: boolean;
  /** Begins with a list that the expression makes: it is made once, whatever the context. */
  readonly startsWithList: boolean;
  readonly keepArray: boolean;
}

function walk(steps: readonly Step[], { isAbsolute, startsWithList, keepArray }: PathOptions): Compiled {
  return (input, evaluation) => {
    let items: List = isList(input) && !isAbsolute ? input : sequenceOf(input);
    let left = steps.length;
    for (const step of steps) {
      const isFirst = left === steps.length;
      left -= 1;
      items =
        isFirst && startsWithList
          ? madeList(step.run(items, evaluation))
          : takeStep(step, items, { evaluation, isLast: left === 0 });
      if (items.length === 0) break;
    }
    return keepArray ? keptArray(items) : items;
  };
}

/** What is called a list by its form may be a block that ends with something else. */
const madeList = (value: unknown): List => (isList(value) ? value : handBack());

/** A list that the expression made becomes the one item of a sequence. */
function keptArray(items: List): List {
  const kept = items.cons === true && items.sequence !== true ? sequenceOf(items) : items;
  // What is no sequence keeps its items anyway, and may belong to the record.
  if (kept.sequence === true) kept.keepSingleton = true;
  return kept;
}

function takeStep(
  step: Step,
  items: List,
  { evaluation, isLast }: { readonly evaluation: Evaluation; readonly isLast: boolean },
): List {
  charge(evaluation, items.length);
  const results: unknown[] = [];
  for (const item of items) {
    let result = step.run(item, evaluation);
    for (const filter of step.stages) result = filter(result, evaluation);
    if (result !== undefined) results.push(result);
  }
  const [only] = results;
  if (isLast && results.length === 1 && isList(only) && only.sequence !== true) return only;
  const flat = sequenceOf();
  for (const result of results) {
    if (isList(result) && result.cons !== true) pushAll(flat, result, evaluation);
    else flat.push(result);
  }
  return flat;
}
