import { type AstNode, isNode } from '../expression.ts';
import type { Compiled } from './evaluation.ts';

/** Ends the compilation of an expression that has a part only JSONata itself evaluates. */
export class NotCompiled extends Error {}

/** The error of every part that is not compiled: one for all, as it carries no details. */
const notCompiled = new NotCompiled('The expression cannot be compiled.');

/** Leaves the expression to JSONata. */
export function refuse(): never {
  throw notCompiled;
}

/** Names that the expression binds with `:=`, inner ones before outer ones. */
export interface Scope {
  readonly names: Map<string, number>;
  readonly outer: Scope | null;
}

/** What the compilation of one expression shares. */
export interface Compiler {
  /** Throws {@link NotCompiled}. */
  compile(node: AstNode, scope: Scope | null): Compiled;
  /** A new place for a value that the expression binds. */
  newSlot(): number;
  /** The index of a variable that the caller binds. */
  indexOf(variable: string): number;
}

/** The node in a property. */
export function childOf(node: AstNode, property: string): AstNode {
  const child = node[property];
  return isNode(child) ? child : refuse();
}

/** The nodes in a property that holds a list of them; none when it is absent. */
export function childrenOf(node: AstNode, property: string): readonly AstNode[] {
  const children = node[property] ?? [];
  return Array.isArray(children) && children.every(isNode) ? children : refuse();
}

/** Name and value of each pair of an object constructor. */
export function pairsOf(node: AstNode): readonly (readonly [AstNode, AstNode])[] {
  const pairs: unknown = node['lhs'];
  if (!Array.isArray(pairs)) return refuse();
  return pairs.map((pair: unknown): readonly [AstNode, AstNode] => {
    const [key, value]: readonly unknown[] = Array.isArray(pair) ? pair : [];
    return isNode(key) && isNode(value) ? [key, value] : refuse();
  });
}

/** The conditions of `predicate` (after a value) or `stages` (after a step of a path). */
export const filtersOf = (node: AstNode, property: 'predicate' | 'stages'): readonly AstNode[] =>
  childrenOf(node, property).map((filter) => (filter.type === 'filter' ? childOf(filter, 'expr') : refuse()));

/** Properties that any node may have. */
const common = new Set(['type', 'position', 'keepArray', 'predicate', 'stages', 'consarray', 'value', 'name']);

/** Refuses a node with an unsupported property: groupings, bindings of steps, sorts, parents. */
export function allow(node: AstNode, ...properties: readonly string[]): void {
  for (const [property, value] of Object.entries(node)) {
    if (value !== undefined && !common.has(property) && !properties.includes(property)) refuse();
  }
}
