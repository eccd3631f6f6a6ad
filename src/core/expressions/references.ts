import { type AstNode, isNode } from './expression.ts';
import type { ParseExpression } from './expression-parser.ts';

export interface Reference {
  /** `field` is a name looked up in the input, such as `params`; `variable` is a free `$name`, without `$`. */
  readonly kind: 'field' | 'variable';
  readonly name: string;
  /** The property read from it (`x` in `params.x`); `null` when it is used whole or by a computed name. */
  readonly member: string | null;
}

/** Nodes visited per expression: `a ?? b` shares subtrees, so a walk could otherwise double at each step. */
const nodesMax = 100_000;

/**
 * The names that an expression takes from outside, in order of appearance, those in function bodies last. Variables
 * bound by `:=`, lambda parameters, `@` and `#` are its own; a function also sees later bindings of its blocks. Names
 * after the first step of a path, in its filters, sort and group terms are read from the item and excluded. Throws
 * `RangeError` when the tree is too large to walk.
 */
export function expressionReferences(ast: AstNode): readonly Reference[] {
  const walk: Walk = { found: [], visited: new Set(), bodies: [] };
  visit(ast, { scope: { names: new Set(), outer: null }, atRoot: true, walk });
  for (const { body, at } of walk.bodies) visit(body, at);
  return walk.found;
}

/** The references in a text, or in parts of it; none if it does not parse, `null` if it is too large to walk. */
export function referencesIn(
  text: string,
  parse: ParseExpression,
  partsOf: (ast: AstNode) => readonly AstNode[] = (ast) => [ast],
): readonly Reference[] | null {
  const parsed = parse(text);
  if (!parsed.ok) return [];
  try {
    return partsOf(parsed.ast).flatMap(expressionReferences);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

interface Walk {
  readonly found: Reference[];
  readonly visited: Set<AstNode>;
  readonly bodies: { readonly body: unknown; readonly at: Position }[];
}

interface Scope {
  readonly names: Set<string>;
  readonly outer: Scope | null;
}

interface Position {
  readonly scope: Scope;
  /** Whether plain names are read from the expression's input here. */
  readonly atRoot: boolean;
  readonly walk: Walk;
}

const inner = (at: Position, names: Iterable<string> = []): Position => ({
  ...at,
  scope: { names: new Set(names), outer: at.scope },
});
const perItem = (at: Position): Position => ({ ...at, atRoot: false });

function isBound(scope: Scope | null, name: string): boolean {
  for (let here = scope; here; here = here.outer) if (here.names.has(name)) return true;
  return false;
}

function visit(node: unknown, at: Position): void {
  if (Array.isArray(node)) return node.forEach((child) => visit(child, at));
  if (!isNode(node) || at.walk.visited.has(node)) return;
  at.walk.visited.add(node);
  if (at.walk.visited.size > nodesMax) throw new RangeError('the expression is too large');
  visitNode(node, at);
  visitItemParts(node, at);
}

function visitNode(node: AstNode, at: Position): void {
  switch (node.type) {
    case 'path':
      return visitPath(node, at);
    case 'variable':
      return refer(node, null, at);
    case 'bind':
      return visitBind(node, at);
    case 'block': {
      const block = inner(at);
      return visit(node['expressions'], block);
    }
    case 'lambda': {
      const parameters = nodes(node['arguments']).map((argument) => String(argument.value));
      at.walk.bodies.push({ body: node['body'], at: inner(at, parameters) });
      return;
    }
    case 'transform':
      return visit([node['pattern'], node['update'], node['delete']], perItem(at));
    case 'sort':
      return visit(nodes(node['terms'], 'expression'), perItem(at));
    default:
      return visit(childrenInInput(node), at);
  }
}

/** Parts evaluated once per item of the node's result: filters, group-by. */
function visitItemParts(node: AstNode, at: Position): void {
  const item = perItem(at);
  visit(nodes(node['stages'], 'expr'), item);
  visit(nodes(node['predicate'], 'expr'), item);
  const { group } = node;
  if (typeof group === 'object' && group !== null && 'lhs' in group) visit(group.lhs, item);
}

const childrenInInput = (node: AstNode): readonly unknown[] => [
  node['procedure'],
  node['arguments'],
  node['condition'],
  node['then'],
  node['else'],
  node['lhs'],
  node['rhs'],
  node['expression'],
  node['expressions'],
];

function visitPath(node: AstNode, outside: Position): void {
  const steps = nodes(node['steps']);
  const binders = steps.flatMap((step) => [step['focus'], step['index']]).filter((name) => typeof name === 'string');
  const at = inner(outside, binders);
  const [first, ...rest] = steps;
  if (!first) return;
  visitFirstStep(first, rest, at);
  visit(rest, perItem(at));
}

function visitFirstStep(first: AstNode, rest: readonly AstNode[], at: Position): void {
  const member = fieldName(rest[0]);
  if (first.type === 'name') {
    if (at.atRoot) at.walk.found.push({ kind: 'field', name: String(first.value), member });
    return visitItemParts(first, at);
  }
  if (first.type !== 'variable') return visit(first, at);
  const isInput = first.value === '$' || (first.value === '' && at.atRoot);
  if (isInput && member !== null) at.walk.found.push({ kind: 'field', name: member, member: fieldName(rest[1]) });
  else refer(first, member, at);
  visitItemParts(first, at);
}

function refer(variable: AstNode, member: string | null, at: Position): void {
  const name = String(variable.value);
  if (name === '' || name === '$' || isBound(at.scope, name)) return;
  at.walk.found.push({ kind: 'variable', name, member });
}

/** A value is evaluated before its name is bound. */
function visitBind(node: AstNode, at: Position): void {
  const { lhs, rhs } = node;
  visit(rhs, at);
  at.scope.names.add(isNode(lhs) ? String(lhs.value) : '');
}

const fieldName = (step: AstNode | undefined): string | null => (step?.type === 'name' ? String(step.value) : null);

function nodes(list: unknown, property?: string): readonly AstNode[] {
  if (!Array.isArray(list)) return [];
  const items: readonly unknown[] = property === undefined ? list : list.map((item) => item?.[property]);
  return items.filter(isNode);
}
