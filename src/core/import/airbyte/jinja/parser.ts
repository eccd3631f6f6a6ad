import type { Token } from './lexer.ts';
import { type Argument, JinjaError, type Node } from './syntax.ts';
import { readTokens, type TokenReader } from './token-reader.ts';

type Rule = (tokens: TokenReader) => Node;

/** Operators by rising precedence; those in a row bind equally. */
const levels: readonly (readonly string[])[] = [['+', '-'], ['~'], ['*', '/', '//', '%']];
const comparisons: ReadonlySet<string> = new Set(['==', '!=', '<', '>', '<=', '>=']);
const words: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'is', 'if', 'else']);
const constants: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);

/**
 * Parses an expression by recursive descent, with the grammar and precedence of Jinja 3. Throws `JinjaError`, also
 * where tokens follow the expression.
 */
export function parseExpression(list: readonly Token[]): Node {
  const tokens = readTokens(list);
  const first = expression(tokens);
  const all = [first];
  while (tokens.skip(',')) all.push(expression(tokens));
  tokens.expectEnd();
  return all.length === 1 ? first : { kind: 'list', at: first.at, items: all };
}

export function parseAssignment(list: readonly Token[]): { readonly name: string; readonly value: Node } {
  const tokens = readTokens(list);
  const name = takeName(tokens);
  tokens.expect('=');
  const value = expression(tokens);
  tokens.expectEnd();
  return { name, value };
}

const expression: Rule = (tokens) => tokens.nested(conditional);

function conditional(tokens: TokenReader): Node {
  let node = or(tokens);
  while (tokens.isWord('if')) {
    const { at } = tokens.take();
    const condition = or(tokens);
    const otherwise = tokens.skip('else') ? expression(tokens) : null;
    node = { kind: 'if', at, condition, yes: node, no: otherwise };
  }
  return node;
}

const or: Rule = (tokens) => chain(tokens, ['or'], and);

const and: Rule = (tokens) => chain(tokens, ['and'], not);

function chain(tokens: TokenReader, operators: readonly string[], operand: Rule): Node {
  let left = operand(tokens);
  for (let steps = 0; operators.some((text) => tokens.isOperator(text) || tokens.isWord(text)); steps += 1) {
    if (steps > 500) throw new JinjaError('has too many operators', tokens.peek().at);
    const { text, at } = tokens.take();
    left = { kind: 'binary', at, operator: text, left, right: operand(tokens) };
  }
  return left;
}

function not(tokens: TokenReader): Node {
  if (!tokens.isWord('not')) return comparison(tokens);
  const { at } = tokens.take();
  return { kind: 'not', at, of: tokens.nested(not) };
}

function comparison(tokens: TokenReader): Node {
  const first = level(tokens, 0);
  const pairs: Node[] = [];
  let left = first;
  for (let operator = comparator(tokens); operator !== null; operator = comparator(tokens)) {
    const right = level(tokens, 0);
    const plain: Node = {
      kind: 'binary',
      at: left.at,
      operator: operator === 'not in' ? 'in' : operator,
      left,
      right,
    };
    pairs.push(operator === 'not in' ? { kind: 'not', at: left.at, of: plain } : plain);
    left = right;
  }
  // `a < b < c` means `a < b and b < c`.
  const [head, ...rest] = pairs;
  if (head === undefined) return first;
  return rest.reduce<Node>(
    (all, pair) => ({ kind: 'binary', at: all.at, operator: 'and', left: all, right: pair }),
    head,
  );
}

function comparator(tokens: TokenReader): string | null {
  const { kind, text } = tokens.peek();
  if (kind === 'operator' && comparisons.has(text)) return tokens.take().text;
  if (tokens.isWord('in')) return tokens.take().text;
  const following = tokens.peek(1);
  if (!tokens.isWord('not') || following.text !== 'in' || following.kind !== 'name') return null;
  tokens.take();
  tokens.take();
  return 'not in';
}

function level(tokens: TokenReader, index: number): Node {
  const operators = levels[index];
  return operators === undefined ? unary(tokens) : chain(tokens, operators, () => level(tokens, index + 1));
}

function unary(tokens: TokenReader): Node {
  const { at } = tokens.peek();
  if (tokens.skip('-')) return { kind: 'negative', at, of: tokens.nested(unary) };
  if (tokens.skip('+')) return tokens.nested(unary);
  return power(tokens);
}

function power(tokens: TokenReader): Node {
  const base = filtered(tokens, postfix(tokens, primary(tokens)));
  if (!tokens.isOperator('**')) return base;
  const { at } = tokens.take();
  return { kind: 'binary', at, operator: '**', left: base, right: tokens.nested(unary) };
}

function filtered(tokens: TokenReader, start: Node): Node {
  let node = start;
  for (;;) {
    const { at } = tokens.peek();
    if (tokens.skip('|')) {
      const name = takeName(tokens);
      const args = tokens.isOperator('(') ? callArguments(tokens) : [];
      node = postfix(tokens, { kind: 'filter', at, name, of: node, args });
    } else if (tokens.skip('is')) {
      node = test(tokens, node, at);
    } else return node;
  }
}

function test(tokens: TokenReader, of: Node, at: number): Node {
  const negated = tokens.skip('not');
  const name = takeName(tokens);
  const { kind, text } = tokens.peek();
  let args: readonly Argument[] = [];
  if (tokens.isOperator('(')) args = callArguments(tokens);
  else if (kind === 'string' || kind === 'number' || (kind === 'name' && !words.has(text))) {
    args = [{ name: null, value: postfix(tokens, primary(tokens)) }];
  }
  return { kind: 'test', at, name, of, args, negated };
}

function takeName(tokens: TokenReader): string {
  const token = tokens.take();
  if (token.kind !== 'name') tokens.fail(token);
  return token.text;
}

function postfix(tokens: TokenReader, start: Node): Node {
  let node = start;
  for (let steps = 0; ; steps += 1) {
    if (steps > 200) throw new JinjaError('has too many steps in one path', tokens.peek().at);
    const { at } = tokens.peek();
    if (tokens.skip('.')) {
      const token = tokens.take();
      if (token.kind !== 'name' && token.kind !== 'number') tokens.fail(token);
      const key: Node = {
        kind: 'constant',
        at: token.at,
        value: token.kind === 'name' ? token.text : Number(token.text),
      };
      node = { kind: 'member', at, of: node, key, dotted: true };
    } else if (tokens.skip('[')) node = subscript(tokens, node, at);
    else if (tokens.isOperator('(')) node = { kind: 'call', at, callee: node, args: callArguments(tokens) };
    else return node;
  }
}

function subscript(tokens: TokenReader, of: Node, at: number): Node {
  const from = tokens.isOperator(':') ? null : expression(tokens);
  if (!tokens.skip(':')) {
    tokens.expect(']');
    if (from === null) return tokens.fail(tokens.peek());
    return { kind: 'member', at, of, key: from, dotted: false };
  }
  const to = tokens.isOperator(']') ? null : expression(tokens);
  tokens.expect(']');
  return { kind: 'slice', at, of, from, to };
}

function callArguments(tokens: TokenReader): readonly Argument[] {
  tokens.expect('(');
  const args: Argument[] = [];
  while (!tokens.skip(')')) {
    const token = tokens.peek();
    const following = tokens.peek(1);
    const isNamed = token.kind === 'name' && following.kind === 'operator' && following.text === '=';
    if (isNamed) {
      tokens.take();
      tokens.take();
    }
    args.push({ name: isNamed ? token.text : null, value: expression(tokens) });
    if (!tokens.isOperator(')')) tokens.expect(',');
  }
  return args;
}

function primary(tokens: TokenReader): Node {
  const token = tokens.take();
  const { at, text } = token;
  if (token.kind === 'number') return { kind: 'constant', at, value: Number(text.replaceAll('_', '')) };
  if (token.kind === 'string') return strings(tokens, text, at);
  if (token.kind === 'name') return named(tokens, token);
  if (text === '(') return parentheses(tokens, at);
  if (text === '[') return { kind: 'list', at, items: items(tokens, ']') };
  if (text === '{') return { kind: 'object', at, entries: entries(tokens) };
  return tokens.fail(token);
}

/** Adjacent texts are one, as in Python. */
function strings(tokens: TokenReader, first: string, at: number): Node {
  let value = first;
  while (tokens.peek().kind === 'string') value += tokens.take().text;
  return { kind: 'constant', at, value };
}

function named(tokens: TokenReader, token: Token): Node {
  const { text, at } = token;
  const value = constants.get(text);
  if (value !== undefined) return { kind: 'constant', at, value };
  return words.has(text) ? tokens.fail(token) : { kind: 'name', at, name: text };
}

function parentheses(tokens: TokenReader, at: number): Node {
  const list = items(tokens, ')');
  const [only] = list;
  const isTuple = tokens.peek(-2).text === ',' && tokens.peek(-2).kind === 'operator';
  return list.length === 1 && only !== undefined && !isTuple ? only : { kind: 'list', at, items: list };
}

function items(tokens: TokenReader, close: string): readonly Node[] {
  const list: Node[] = [];
  while (!tokens.skip(close)) {
    list.push(expression(tokens));
    if (!tokens.isOperator(close)) tokens.expect(',');
  }
  return list;
}

function entries(tokens: TokenReader): readonly (readonly [Node, Node])[] {
  const list: (readonly [Node, Node])[] = [];
  while (!tokens.skip('}')) {
    const key = expression(tokens);
    tokens.expect(':');
    list.push([key, expression(tokens)]);
    if (!tokens.isOperator('}')) tokens.expect(',');
  }
  return list;
}
