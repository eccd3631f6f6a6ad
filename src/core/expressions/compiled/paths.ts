import type { AstNode } from '../expression.ts';
import { type Compiled, charge, type Evaluation, handBack } from './evaluation.ts';
import { compileFilter, type Filter } from './filters.ts';
import { allow, type Compiler, childrenOf, filtersOf, refuse, type Scope } from './node.ts';
import { collapse, isList, type List, sequenceOf } from './sequence.ts';
import { fieldOf, pushAll } from './values.ts';

interface Step {
  readonly run: Compiled;
  readonly stages: readonly Filter[];
}

/** A path: each step runs over each item of the step before. */
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
  const names = plainFields(nodes);
  if (names === null) return general;
  const start = isPlainVariable(first) ? compiler.compile(first, scope) : context;
  return compileFields(start, names, isCollapsedPath(node) ? collapsed(general, node['keepArray'] === true) : general);
}

export const isCollapsedPath = (node: AstNode): boolean =>
  node.type === 'path' && node['predicate'] === undefined && plainFields(childrenOf(node, 'steps')) !== null;

const collapsed =
  (compiled: Compiled, keepArray: boolean): Compiled =>
  (input, evaluation) =>
    collapse(compiled(input, evaluation), keepArray);

/** Names of a path of fields, which may begin with a variable; `null` where it has steps of other kinds. */
function plainFields(steps: readonly AstNode[]): readonly string[] | null {
  const [first] = steps;
  const names = (first && isPlainVariable(first) ? steps.slice(1) : steps).map(plainName);
  return names.every((name) => name !== null) ? names : null;
}

const isPlainVariable = (step: AstNode): boolean =>
  step.type === 'variable' && !step['predicate'] && !step['stages'] && !step['keepArray'];

const context: Compiled = (input) => input;

const plainName = (step: AstNode): string | null =>
  step.type === 'name' && typeof step.value === 'string' && step['stages'] === undefined && !step['keepArray']
    ? step.value
    : null;

function compileName(node: AstNode): Compiled {
  allow(node);
  const { value: name } = node;
  if (typeof name !== 'string') return refuse();
  const keepArray = node['keepArray'] === true;
  return (input, evaluation) => collapse(fieldOf(input, name, evaluation), keepArray);
}

/** The most common case; a list on the way needs the general form. */
function compileFields(start: Compiled, names: readonly string[], general: Compiled): Compiled {
  const fields = names.map((name) => ({ name, isInherited: name in Object.prototype }));
  return (input, evaluation) => {
    charge(evaluation, fields.length);
    let value = start(input, evaluation);
    for (const { name, isInherited } of fields) {
      if (typeof value !== 'object' || value === null) return undefined;
      if (Array.isArray(value)) return general(input, evaluation);
      // The check costs as much as the read, and any other name can only be the object's own.
      if (isInherited && !Object.hasOwn(value, name)) return undefined;
      value = (value as Readonly<Record<string, unknown>>)[name];
    }
    return isList(value) && value.sequence === true ? general(input, evaluation) : value;
  };
}

interface PathOptions {
  /** Begins with a variable, so it does not iterate over the context. */
  readonly isAbsolute: boolean;
  /** Begins with a list that the expression makes once for all contexts. */
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

/** A list by its form may be a block that ends with something else. */
const madeList = (value: unknown): List => (isList(value) ? value : handBack());

function keptArray(items: List): List {
  const kept = items.cons === true && items.sequence !== true ? sequenceOf(items) : items;
  // A value that is not a sequence keeps its items anyway, and may belong to the record.
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
