import { type AstNode, isNode, parseExpression } from '../expression.ts';

/**
 * The fields of an input that an expression can read, with their contents; `null` when any field is possible. A process
 * then does not need the whole record for one column.
 */
export function fieldsRead(text: string): ReadonlySet<string> | null {
  const parsed = parseExpression(text);
  if (!parsed.ok) return null;
  const names = new Set<string>();
  return namesOnly(parsed.ast, names) ? names : null;
}

const transparent: ReadonlySet<string> = new Set([
  ...['string', 'number', 'value', 'regex', 'path', 'filter', 'unary', 'binary', 'condition', 'block', 'bind'],
  ...['function', 'lambda', 'apply', 'variable'],
]);

/** Functions that take the input where an argument is missing, with the number of arguments that avoids it. */
const argumentsMin: ReadonlyMap<unknown, number> = new Map([
  ...(['string', 'boolean', 'not', 'keys', 'spread', 'clone'] as const).map((name) => [name, 1] as const),
  ...(['lookup', 'each', 'sift'] as const).map((name) => [name, 2] as const),
]);

/** Adds the field names that a tree mentions; `false` if it may read the input in another way too. */
function namesOnly(tree: unknown, names: Set<string>): boolean {
  if (Array.isArray(tree)) return tree.every((item) => namesOnly(item, names));
  if (typeof tree !== 'object' || tree === null || tree instanceof RegExp) return true;
  if (!isNode(tree)) return Object.values(tree).every((child) => namesOnly(child, names));
  if (tree.type === 'name') names.add(String(tree.value));
  else if (!transparent.has(tree.type) || isInput(tree)) return false;
  // A step whose item has a name keeps the value before it as the context.
  if (tree['focus'] !== undefined || tree['signature'] !== undefined) return false;
  const { procedure, ...others } = tree;
  const children = isComplete(tree)
    ? [...Object.values(others), ...Object.values(Object(procedure))]
    : Object.values(tree);
  return children.every((child) => namesOnly(child, names));
}

/** `$` may be only a part of the input, and the function may have all its arguments; neither is checked. */
const isInput = ({ type, value }: AstNode): boolean =>
  type === 'variable' && (value === '' || value === '$' || argumentsMin.has(value));

const isComplete = ({ type, procedure, arguments: given }: AstNode): boolean =>
  type === 'function' &&
  isNode(procedure) &&
  procedure.type === 'variable' &&
  Array.isArray(given) &&
  given.length >= (argumentsMin.get(procedure.value) ?? 0);
