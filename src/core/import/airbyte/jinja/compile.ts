import type { Arguments } from './arguments.ts';
import { callFilter } from './filters.ts';
import { callMacro } from './macros.ts';
import { memberOf } from './member.ts';
import { callMethod } from './methods.ts';
import { arithmetic, comparison, contained } from './operators.ts';
import { isTruthy, negation, text, truth } from './python.ts';
import { type Argument, JinjaError, type Node } from './syntax.ts';
import { runTest } from './tests.ts';
import { checkLength, computed, constant, lengthOf, missing, quote, type Scope, type Value } from './value.ts';

/** Longest JSONata of one template in UTF-16 units: each operator may double its operands. */
const codeMax = 20_000;

/** A constant or JSONata. Throws `JinjaError` where JSONata has no counterpart. */
export function compile(node: Node, scope: Scope): Value {
  const value = valueOf(node, scope);
  if (value.constant === undefined && value.member === undefined && value.code.length > codeMax) {
    throw new JinjaError('is too long as JSONata', node.at);
  }
  // Limits only results: values of the manifest itself may be longer.
  if (value.constant !== undefined && node.kind !== 'name' && node.kind !== 'member') {
    checkLength(value.code.length, node.at);
  }
  return value;
}

function valueOf(node: Node, scope: Scope): Value {
  switch (node.kind) {
    case 'constant':
      return constant(node.value);
    case 'name':
      return named(node, scope);
    case 'member':
      return memberOf(compile(node.of, scope), compile(node.key, scope), node.at);
    case 'slice':
      return sliced(node, scope);
    case 'call':
      return called(node, scope);
    case 'filter':
      return callFilter(node.name, compile(node.of, scope), argumentsOf(node.args, scope), node.at);
    case 'test':
      return tested(node, scope);
    case 'not':
      return negation(compile(node.of, scope));
    case 'negative':
      return arithmetic('-', { left: constant(0), right: compile(node.of, scope), at: node.at });
    case 'binary':
      return binary(node, scope);
    case 'if':
      return conditional(node, scope);
    case 'list':
      return list(
        node.items.map((item) => compile(item, scope)),
        node.at,
      );
    case 'object':
      return object(
        node.entries.map(([key, value]) => [compile(key, scope), compile(value, scope)]),
        node.at,
      );
    case 'text':
      return joinedText(
        node.parts.map((part) => compile(part, scope)),
        node.at,
      );
    case 'let': {
      const value = compile(node.value, scope);
      const inner: Scope = { place: scope.place, name: (name) => (name === node.name ? value : scope.name(name)) };
      return compile(node.in, inner);
    }
  }
}

function named({ name, at }: Extract<Node, { kind: 'name' }>, scope: Scope): Value {
  const value = scope.name(name);
  if (value !== null) return value;
  if (name === 'stream_state') {
    throw new JinjaError('uses `stream_state`, which is known only in requests; use `stream_interval`', at);
  }
  throw new JinjaError(`uses \`${name.slice(0, 100)}\`, which is not known ${scope.place}`, at);
}

function sliced(node: Extract<Node, { kind: 'slice' }>, scope: Scope): Value {
  const of = compile(node.of, scope);
  const bound = (part: Node | null): number | null => {
    if (part === null) return null;
    const value = compile(part, scope).constant?.value;
    if (typeof value === 'number' && Number.isInteger(value)) return value;
    throw new JinjaError('has a slice whose bounds are computed', part.at);
  };
  const from = bound(node.from);
  const to = bound(node.to);
  if (of.constant) {
    const { value } = of.constant;
    if (typeof value !== 'string' && !Array.isArray(value))
      throw new JinjaError('takes a slice of something that is not a string', node.at);
    return constant(value.slice(from ?? 0, to ?? undefined));
  }
  if (of.kind === 'list' || of.member) throw new JinjaError('takes a slice of a list, which is not supported', node.at);
  const source = text(of).code;
  // A negative start or end counts from the end in both languages, but only one of them has an end.
  const tail = from === null || from === 0 ? source : `$substring(${source}, ${from})`;
  if (to === null) return computed('text', tail === source ? `$substring(${source}, 0)` : tail);
  if (to < 0) {
    const cut = `$substring(${source}, 0, $max([$length(${source}) - ${-to}, 0]))`;
    return computed('text', from === null || from === 0 ? cut : `$substring(${cut}, ${from})`);
  }
  if (from !== null && from < 0)
    throw new JinjaError('has a slice from the end to a position, which is not supported', node.at);
  return computed('text', `$substring(${source}, ${from ?? 0}, ${Math.max(0, to - (from ?? 0))})`);
}

function argumentsOf(args: readonly Argument[], scope: Scope): Arguments {
  const positional = args.filter(({ name }) => name === null).map(({ value }) => compile(value, scope));
  const byName = new Map(args.flatMap(({ name, value }) => (name === null ? [] : [[name, compile(value, scope)]])));
  return {
    count: args.length,
    get: (index, name) => (name === undefined ? undefined : byName.get(name)) ?? positional[index] ?? null,
  };
}

function called(node: Extract<Node, { kind: 'call' }>, scope: Scope): Value {
  const { callee, at } = node;
  const args = argumentsOf(node.args, scope);
  if (callee.kind === 'name') return callMacro(callee.name, args, at);
  if (callee.kind !== 'member' || callee.key.kind !== 'constant' || typeof callee.key.value !== 'string') {
    throw new JinjaError('calls something that is not a function', at);
  }
  return callMethod(callee.key.value, compile(callee.of, scope), args, at);
}

function tested(node: Extract<Node, { kind: 'test' }>, scope: Scope): Value {
  // A name that is unknown here is simply not defined.
  const unknown = node.of.kind === 'name' && scope.name(node.of.name) === null;
  const of = unknown && /^(?:un)?defined$/.test(node.name) ? missing : compile(node.of, scope);
  const result = runTest(node.name, of, argumentsOf(node.args, scope), node.at);
  return node.negated ? negation(result) : result;
}

function binary(node: Extract<Node, { kind: 'binary' }>, scope: Scope): Value {
  const { operator, at } = node;
  const left = compile(node.left, scope);
  if (operator === 'or' || operator === 'and') return logical(operator, left, () => compile(node.right, scope));
  const right = compile(node.right, scope);
  if (operator === 'in') return contained(left, right, at);
  if (operator === '~') return joinedText([left, right], at);
  return /^(?:==|!=|<=?|>=?)$/.test(operator)
    ? comparison(operator, { left, right, at })
    : arithmetic(operator, { left, right, at });
}

function logical(operator: 'and' | 'or', left: Value, other: () => Value): Value {
  if (left.constant) return isTruthy(left.constant.value) === (operator === 'or') ? left : other();
  const right = other();
  const kind = left.kind === right.kind ? left.kind : 'any';
  const test = truth(left).code;
  const code =
    operator === 'or' ? `(${test} ? ${left.code} : ${right.code})` : `(${test} ? ${right.code} : ${left.code})`;
  const final = left.final === true && (right.final === true || right.constant?.value === '');
  return {
    kind: right.constant?.value === '' && operator === 'or' ? left.kind : kind,
    code,
    ...(final ? { final } : {}),
  };
}

function conditional(node: Extract<Node, { kind: 'if' }>, scope: Scope): Value {
  const condition = compile(node.condition, scope);
  if (condition.constant) {
    if (isTruthy(condition.constant.value)) return compile(node.yes, scope);
    return node.no === null ? missing : compile(node.no, scope);
  }
  const then = compile(node.yes, scope);
  const otherwise = node.no === null ? missing : compile(node.no, scope);
  const empty = (value: Value): boolean =>
    value.constant?.value === undefined ? value.constant !== undefined : value.constant.value === '';
  const kind = then.kind === otherwise.kind || empty(otherwise) ? then.kind : empty(then) ? otherwise.kind : 'any';
  const code = `(${truth(condition).code} ? ${then.code} : ${otherwise.code})`;
  return computed(kind, code);
}

function list(items: readonly Value[], at: number): Value {
  checkLength(lengthOf(items), at);
  if (items.every((item) => item.constant)) return constant(items.map((item) => item.constant?.value));
  return computed('list', `[${items.map((item) => item.code).join(', ')}]`);
}

function object(entries: readonly (readonly [Value, Value])[], at: number): Value {
  checkLength(lengthOf(entries.flat()), at);
  if (entries.every(([key, value]) => key.constant && value.constant)) {
    return constant(
      Object.fromEntries(entries.map(([key, value]) => [String(key.constant?.value), value.constant?.value])),
    );
  }
  return computed('object', `{${entries.map(([key, value]) => `${text(key).code}: ${value.code}`).join(', ')}}`);
}

/** Throws `JinjaError` when the parts are too long together. */
export function joinedText(parts: readonly Value[], at = 0): Value {
  checkLength(lengthOf(parts), at);
  const shown = parts.map((part) => (part.constant && part.constant.value === undefined ? constant('') : text(part)));
  if (shown.every((part) => part.constant)) return constant(shown.map((part) => part.constant?.value).join(''));
  const codes: string[] = [];
  let known = '';
  for (const part of shown) {
    if (part.constant) known += String(part.constant.value);
    else {
      if (known !== '') codes.push(quote(known));
      known = '';
      codes.push(part.code);
    }
  }
  if (known !== '') codes.push(quote(known));
  return computed('text', codes.length === 1 ? `(${codes[0]} & "")` : `(${codes.join(' & ')})`);
}
