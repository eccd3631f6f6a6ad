import { type AstNode, isNode, parseExpression } from '../../spec/expression.ts';

/**
 * The fields of an input that an expression can read, with all that are in them; null: perhaps any. So what is sent to a
 * process for one column need not be the whole record.
 */
export function fieldsRead(text: string): ReadonlySet<string> | null {
  const parsed = parseExpression(text);
  if (!parsed.ok) return null;
  const names = new Set<string>();
  return namesOnly(parsed.ast, names) ? names : null;
}

/** Of these the children say what is read. */
const transparent: ReadonlySet<string> = new Set([
  ...['string', 'number', 'value', 'regex', 'path', 'filter', 'unary', 'binary', 'condition', 'block', 'bind'],
  ...['function', 'lambda', 'apply'],
]);

/** Functions that take the input itself where an argument is missing, with the number of arguments that leaves none out. */
const argumentsMin: Readonly<Record<string, number>> = {
  ...{ string: 1, boolean: 1, not: 1, keys: 1, spread: 1, clone: 1 },
  ...{ lookup: 2, each: 2, sift: 2 },
};

/** Adds the names of fields that a tree mentions; false: it reaches the input in another way too. */
function namesOnly(tree: unknown, names: Set<string>): boolean {
  if (Array.isArray(tree)) return tree.every((item) => namesOnly(item, names));
  if (typeof tree !== 'object' || tree === null || tree instanceof RegExp) return true;
  if (isNode(tree)) {
    if (tree.type === 'name') names.add(String(tree.value));
    else if (tree.type === 'variable' ? isInput(tree) : !transparent.has(tree.type) || takesInput(tree)) return false;
  }
  return Object.values(tree).every((child) => namesOnly(child, names));
}

/** `$` may be a part of the input only; that is not looked into. */
const isInput = ({ value }: AstNode): boolean => value === '' || value === '$';

/** A call that leaves an argument to the input, or a function of the author's that may. */
function takesInput({ type, procedure, arguments: given, signature }: AstNode): boolean {
  if (type === 'lambda') return signature !== undefined;
  if (type !== 'function') return false;
  if (!isNode(procedure) || !Array.isArray(given)) return true;
  const name = String(procedure.value);
  return Object.hasOwn(argumentsMin, name) && given.length < (argumentsMin[name] ?? 0);
}
