import type { Tokens } from './tsql-tokens.ts';

/** A value of a variable, or what a condition comes to. */
export type TsqlValue = string | number | boolean | null;

/** What an expression is computed over. */
export interface Scope {
  readonly variables: Map<string, TsqlValue>;
  rowCount: number;
  transactions: number;
  /** The one that was caught last. */
  error: (Error & { readonly number: number }) | null;
  readonly now: () => number;
  readonly scalar: (sql: string, scope: Scope) => TsqlValue;
}

/** Computes an expression. */
export type Expression = (scope: Scope) => TsqlValue;

/** Reads an expression: conditions, sums, `case`, `in`, a few functions, queries of one value. */
export function parseExpression(tokens: Tokens): Expression {
  let left = parseAnd(tokens);
  while (tokens.accepts('or')) {
    const [before, right] = [left, parseAnd(tokens)];
    left = (scope) => before(scope) === true || right(scope) === true;
  }
  return left;
}

function parseAnd(tokens: Tokens): Expression {
  let left = parseNot(tokens);
  while (tokens.accepts('and')) {
    const [before, right] = [left, parseNot(tokens)];
    left = (scope) => before(scope) === true && right(scope) === true;
  }
  return left;
}

function parseNot(tokens: Tokens): Expression {
  if (!tokens.accepts('not')) return parseComparison(tokens);
  const inner = parseNot(tokens);
  return (scope) => inner(scope) !== true;
}

const comparisons: Readonly<Record<string, (a: TsqlValue, b: TsqlValue) => boolean>> = {
  '=': (a, b) => a === b,
  '<>': (a, b) => a !== b,
  '<': (a, b) => Number(a) < Number(b),
  '>': (a, b) => Number(a) > Number(b),
  '<=': (a, b) => Number(a) <= Number(b),
  '>=': (a, b) => Number(a) >= Number(b),
};

function parseComparison(tokens: Tokens): Expression {
  const left = parseSum(tokens);
  if (tokens.accepts('in', '(')) {
    const members = parseList(tokens);
    return (scope) => members.some((member) => member(scope) === left(scope));
  }
  const compare = comparisons[tokens.peek()];
  if (!compare) return left;
  tokens.take();
  const right = parseSum(tokens);
  return (scope) => compare(left(scope), right(scope));
}

function parseSum(tokens: Tokens): Expression {
  let left = parseProduct(tokens);
  for (;;) {
    const sign = tokens.accepts('+') ? 1 : tokens.accepts('-') ? -1 : 0;
    if (sign === 0) return left;
    const [before, right] = [left, parseProduct(tokens)];
    left = (scope) => Number(before(scope)) + sign * Number(right(scope));
  }
}

/** Division of whole numbers. */
function parseProduct(tokens: Tokens): Expression {
  let left = parseValue(tokens);
  for (;;) {
    const isProduct = tokens.accepts('*');
    if (!isProduct && !tokens.accepts('/')) return left;
    const [before, right] = [left, parseValue(tokens)];
    left = (scope) => {
      const [a, b] = [Number(before(scope)), Number(right(scope))];
      return isProduct ? a * b : Math.trunc(a / b);
    };
  }
}

function parseList(tokens: Tokens): readonly Expression[] {
  const members: Expression[] = [];
  if (tokens.accepts(')')) return members;
  do members.push(parseExpression(tokens));
  while (tokens.accepts(','));
  tokens.expect(')');
  return members;
}

function parseValue(tokens: Tokens): Expression {
  if (tokens.accepts('(')) {
    if (tokens.peek() === 'select') {
      const sql = tokens.takeBracket();
      return (scope) => scope.scalar(sql, scope);
    }
    const inner = parseExpression(tokens);
    tokens.expect(')');
    return inner;
  }
  if (tokens.accepts('case')) return parseCase(tokens);
  const text = tokens.take();
  if (/^\d+$/.test(text)) return () => Number(text);
  if (/^N?'/.test(text)) return () => text.slice(text.indexOf("'") + 1, -1).replaceAll("''", "'");
  if (text === '@@rowcount') return ({ rowCount }) => rowCount;
  if (text === '@@trancount') return ({ transactions }) => transactions;
  if (text.startsWith('@')) return ({ variables }) => variableOf(variables, text);
  if (tokens.accepts('(')) return parseCall(tokens, text);
  throw new Error(`no value: ${text}`);
}

function variableOf(variables: Scope['variables'], name: string): TsqlValue {
  const value = variables.get(name);
  if (value === undefined) throw new Error(`${name} is not declared`);
  return value;
}

function parseCase(tokens: Tokens): Expression {
  const branches: (readonly [Expression, Expression])[] = [];
  while (tokens.accepts('when')) {
    const condition = parseExpression(tokens);
    tokens.expect('then');
    branches.push([condition, parseExpression(tokens)]);
  }
  const otherwise = tokens.accepts('else') ? parseExpression(tokens) : () => null;
  tokens.expect('end');
  return (scope) => (branches.find(([condition]) => condition(scope) === true)?.[1] ?? otherwise)(scope);
}

function parseCall(tokens: Tokens, name: string): Expression {
  if (name === 'cast') {
    const value = parseExpression(tokens);
    tokens.expect('as');
    tokens.takeBracket();
    return value;
  }
  if (name === 'dateadd') tokens.expect('millisecond', ',');
  const values = parseList(tokens);
  const valueAt = (index: number, scope: Scope): TsqlValue => values[index]?.(scope) ?? null;
  const calls: Readonly<Record<string, Expression>> = {
    sysutcdatetime: ({ now }) => now(),
    dateadd: (scope) => Number(valueAt(0, scope)) + Number(valueAt(1, scope)),
    error_number: ({ error }) => error?.number ?? null,
    error_message: ({ error }) => error?.message ?? null,
    left: (scope) => String(valueAt(0, scope)).slice(0, Number(valueAt(1, scope))),
  };
  const call = calls[name];
  if (!call) throw new Error(`no function: ${name}`);
  return call;
}
