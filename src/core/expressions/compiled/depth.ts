import type { AstNode } from '../expression.ts';
import { childrenOf, pairsOf } from './node.ts';

/**
 * The highest number of node evaluations that JSONata has in progress at once. The values of an object and the items of
 * a list all begin before the first ends. JSONata counts them as stack depth and fails above its own limit; expressions
 * that may reach it are left to JSONata.
 */
export function depthOf(node: AstNode): number {
  const within = [
    ...['lhs', 'rhs', 'expression', 'condition', 'then', 'else'].flatMap((property) => nodeIn(node, property)),
    ...['steps', 'arguments'].flatMap((property) => childrenOf(node, property)),
    ...['predicate', 'stages'].flatMap((property) =>
      childrenOf(node, property).flatMap((filter) => nodeIn(filter, 'expr')),
    ),
  ];
  const inOrder = node.type === 'block' ? [...within, ...childrenOf(node, 'expressions')] : within;
  return 1 + Math.max(deepest(inOrder), atOnce(node));
}

const deepest = (nodes: readonly AstNode[]): number => Math.max(0, ...nodes.map(depthOf));

function atOnce(node: AstNode): number {
  if (node.type !== 'unary') return 0;
  if (node.value === '[') return total(childrenOf(node, 'expressions'));
  return node.value === '{' ? total(pairsOf(node).flat()) : 0;
}

const total = (nodes: readonly AstNode[]): number => nodes.reduce((sum, node) => sum + depthOf(node), 0);

function nodeIn(node: AstNode, property: string): readonly AstNode[] {
  const child = node[property];
  return typeof child === 'object' && child !== null && 'type' in child ? [child as AstNode] : [];
}
