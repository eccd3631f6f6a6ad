import { type AstNode, isNode } from '../expression.ts';
import type { Compiled } from './evaluation.ts';

/** Ends the compilation of an expression with a part that only JSONata evaluates. */
export class NotCompiled extends Error {}

/** One error for all, as it carries no details. */
const notCompiled = new NotCompiled('The expression cannot be compiled.');

export function refuse(): never {
  throw notCompiled;
}

/** Names that the expression binds with `:=`. */
export interface Scope {
  readonly names: Map<string, number>;
  readonly outer: Scope | null;
}

export interface Compiler {
  compile(node: AstNode, scope: Scope | null): Compiled;
  newSlot(): number;
  indexOf(variable: string): number;
}

export function childOf(node: AstNode, property: string): AstNode {
  const child = node[property];
  return isNode(child) ? child : refuse();
}

/** Empty when the property is absent. */
export function childrenOf(node: AstNode, property: string): readonly AstNode[] {
  const children = node[property] ?? [];
  return Array.isArray(children) && children.every(isNode) ? children : refuse();
}

export function pairsOf(node: AstNode): readonly (readonly [AstNode, AstNode])[] {
  const pairs: unknown = node['lhs'];
  if (!Array.isArray(pairs)) return refuse();
  return pairs.map((pair: unknown): readonly [AstNode, AstNode] => {
    const [key, value]: readonly unknown[] = Array.isArray(pair) ? pair : [];
    return isNode(key) && isNode(value) ? [key, value] : refuse();
  });
}

/** Conditions of `predicate` (after a value) or `stages` (after a step of a path). */
export const filtersOf = (node: AstNode, property: 'predicate' | 'stages'): readonly AstNode[] =>
  childrenOf(node, property).map((filter) => (filter.type === 'filter' ? childOf(filter, 'expr') : refuse()));

const common = new Set(['type', 'position', 'keepArray', 'predicate', 'stages', 'consarray', 'value', 'name']);

/** Refuses a node with an unsupported property: groupings, bindings of steps, sorts, parents. */
export function allow(node: AstNode, ...properties: readonly string[]): void {
  for (const [property, value] of Object.entries(node)) {
    if (value !== undefined && !common.has(property) && !properties.includes(property)) refuse();
  }
}
