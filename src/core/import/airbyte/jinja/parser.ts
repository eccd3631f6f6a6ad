import type { Token } from './lexer.ts';
import { type Argument, JinjaError, type Node } from './syntax.ts';

/** Parentheses, lists and operators inside each other. */
const depthMax = 100;

/** Reads the tokens of one expression from left to right. */
export interface Parser {
  /** The expression. Throws `JinjaError`, also where something follows it. */
  whole(): Node;
  /** The name that is next, and then the expression after `=`. */
  assignment(): { readonly name: string; readonly value: Node };
}

type Binary = Extract<Node, { kind: 'binary' }>;

/** Operators by rising precedence; each row binds equally. */
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

/** A parser by recursive descent, with the grammar and precedence of Jinja 3. */
export function createParser(tokens: readonly Token[]): Parser {
  let next = 0;
  let depth = 0;
  const end: Token = tokens.at(-1) ?? { kind: 'end', text: '', at: 0 };
  const peek = (): Token => tokens[next] ?? end;
  const take = (): Token => {
    const token = peek();
    next += 1;
    return token;
  };
  const fail = (token: Token): never => {
    throw new JinjaError(
      token.kind === 'end' ? 'ends too early' : `has ${JSON.stringify(token.text)} where it is not expected`,
      token.at,
    );
  };
  const isOperator = (text: string): boolean => peek().kind === 'operator' && peek().text === text;
  const isWord = (text: string): boolean => peek().kind === 'name' && peek().text === text;
  const skip = (text: string): boolean => {
    const found = isOperator(text) || isWord(text);
    if (found) next += 1;
    return found;
  };
  const expect = (text: string): void => {
    if (!skip(text)) fail(peek());
  };

  function expression(): Node {
    depth += 1;
    if (depth > depthMax) throw new JinjaError(`nests deeper than ${depthMax} levels`, peek().at);
    let node = or();
    while (isWord('if')) {
      const { at } = take();
      const condition = or();
      const otherwise = skip('else') ? expression() : null;
      node = { kind: 'if', at, condition, yes: node, no: otherwise };
    }
    depth -= 1;
    return node;
  }

  function or(): Node {
    return chain(['or'], () => chain(['and'], not));
  }

  function chain(operators: readonly string[], operand: () => Node): Node {
    let left = operand();
    for (let steps = 0; operators.some((text) => isOperator(text) || isWord(text)); steps += 1) {
      if (steps > 500) throw new JinjaError('has too many operators', peek().at);
      const { text, at } = take();
      left = { kind: 'binary', at, operator: text, left, right: operand() } satisfies Binary;
    }
    return left;
  }

  function not(): Node {
    if (!isWord('not')) return comparison();
    const { at } = take();
    depth += 1;
    if (depth > depthMax) throw new JinjaError(`nests deeper than ${depthMax} levels`, at);
    const of = not();
    depth -= 1;
    return { kind: 'not', at, of };
  }

  function comparison(): Node {
    const first = level(0);
    const pairs: Node[] = [];
    let left = first;
    for (let operator = comparator(); operator !== null; operator = comparator()) {
      const right = level(0);
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

  function comparator(): string | null {
    const { kind, text } = peek();
    if (kind === 'operator' && comparisons.has(text)) return take().text;
    if (isWord('in')) return take().text;
    const following = tokens[next + 1];
    if (!isWord('not') || following?.text !== 'in' || following.kind !== 'name') return null;
    next += 2;
    return 'not in';
  }

  function level(index: number): Node {
    const operators = levels[index];
    return operators === undefined ? unary() : chain(operators, () => level(index + 1));
  }

  function unary(): Node {
    const { at } = peek();
    if (skip('-')) return { kind: 'negative', at, of: nested(unary) };
    if (skip('+')) return nested(unary);
    return power();
  }

  /** The recursion that no parentheses bound. */
  function nested(read: () => Node): Node {
    depth += 1;
    if (depth > depthMax) throw new JinjaError(`nests deeper than ${depthMax} levels`, peek().at);
    const node = read();
    depth -= 1;
    return node;
  }

  function power(): Node {
    const base = filtered(postfix(primary()));
    if (!isOperator('**')) return base;
    const { at } = take();
    return { kind: 'binary', at, operator: '**', left: base, right: nested(unary) };
  }

  function filtered(start: Node): Node {
    let node = start;
    for (;;) {
      const { at } = peek();
      if (skip('|')) {
        const name = dottedName();
        const args = isOperator('(') ? callArguments() : [];
        node = postfix({ kind: 'filter', at, name, of: node, args });
      } else if (skip('is')) {
        node = test(node, at);
      } else return node;
    }
  }

  function test(of: Node, at: number): Node {
    const negated = skip('not');
    const name = dottedName();
    const { kind, text } = peek();
    let args: readonly Argument[] = [];
    if (isOperator('(')) args = callArguments();
    else if (kind === 'string' || kind === 'number' || (kind === 'name' && !words.has(text))) {
      args = [{ name: null, value: postfix(primary()) }];
    }
    return { kind: 'test', at, name, of, args, negated };
  }

  function dottedName(): string {
    const token = take();
    if (token.kind !== 'name') fail(token);
    return token.text;
  }

  function postfix(start: Node): Node {
    let node = start;
    for (let steps = 0; ; steps += 1) {
      if (steps > 200) throw new JinjaError('has too many steps in one path', peek().at);
      const { at } = peek();
      if (skip('.')) {
        const token = take();
        if (token.kind !== 'name' && token.kind !== 'number') fail(token);
        const key: Node = {
          kind: 'constant',
          at: token.at,
          value: token.kind === 'name' ? token.text : Number(token.text),
        };
        node = { kind: 'member', at, of: node, key, dotted: true };
      } else if (skip('[')) node = subscript(node, at);
      else if (isOperator('(')) node = { kind: 'call', at, callee: node, args: callArguments() };
      else return node;
    }
  }

  function subscript(of: Node, at: number): Node {
    const from = isOperator(':') ? null : expression();
    if (!skip(':')) {
      expect(']');
      if (from === null) return fail(peek());
      return { kind: 'member', at, of, key: from, dotted: false };
    }
    const to = isOperator(']') ? null : expression();
    expect(']');
    return { kind: 'slice', at, of, from, to };
  }

  function callArguments(): readonly Argument[] {
    expect('(');
    const args: Argument[] = [];
    while (!skip(')')) {
      const token = peek();
      const following = tokens[next + 1];
      const isNamed = token.kind === 'name' && following?.kind === 'operator' && following.text === '=';
      if (isNamed) next += 2;
      args.push({ name: isNamed ? token.text : null, value: expression() });
      if (!isOperator(')')) expect(',');
    }
    return args;
  }

  function primary(): Node {
    const token = take();
    const { at, text } = token;
    if (token.kind === 'number') return { kind: 'constant', at, value: Number(text.replaceAll('_', '')) };
    if (token.kind === 'string') return strings(text, at);
    if (token.kind === 'name') return named(token);
    if (text === '(') return parentheses(at);
    if (text === '[') return { kind: 'list', at, items: items(']') };
    if (text === '{') return { kind: 'object', at, entries: entries() };
    return fail(token);
  }

  /** Texts beside each other are one, as in Python. */
  function strings(first: string, at: number): Node {
    let value = first;
    while (peek().kind === 'string') value += take().text;
    return { kind: 'constant', at, value };
  }

  function named(token: Token): Node {
    const { text, at } = token;
    const value = constants.get(text);
    if (value !== undefined) return { kind: 'constant', at, value };
    return words.has(text) ? fail(token) : { kind: 'name', at, name: text };
  }

  function parentheses(at: number): Node {
    const list = items(')');
    const [only] = list;
    const isTuple = tokens[next - 2]?.text === ',' && tokens[next - 2]?.kind === 'operator';
    return list.length === 1 && only !== undefined && !isTuple ? only : { kind: 'list', at, items: list };
  }

  function items(close: string): readonly Node[] {
    const list: Node[] = [];
    while (!skip(close)) {
      list.push(expression());
      if (!isOperator(close)) expect(',');
    }
    return list;
  }

  function entries(): readonly (readonly [Node, Node])[] {
    const list: (readonly [Node, Node])[] = [];
    while (!skip('}')) {
      const key = expression();
      expect(':');
      list.push([key, expression()]);
      if (!isOperator('}')) expect(',');
    }
    return list;
  }

  return {
    whole() {
      const first = expression();
      const list = [first];
      while (skip(',')) list.push(expression());
      if (peek().kind !== 'end') fail(peek());
      return list.length === 1 ? first : { kind: 'list', at: first.at, items: list };
    },
    assignment() {
      const name = dottedName();
      expect('=');
      const value = expression();
      if (peek().kind !== 'end') fail(peek());
      return { name, value };
    },
  };
}
