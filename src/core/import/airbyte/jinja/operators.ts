import { type IsoDuration, moveTime } from './durations.ts';
import { isTruthy, negation, shown, text } from './python.ts';
import { JinjaError } from './syntax.ts';
import { computed, constant, quote, step, type Value } from './value.ts';

interface Operands {
  readonly left: Value;
  readonly right: Value;
  readonly at: number;
}

export function comparison(operator: string, { left, right, at }: Operands): Value {
  if (left.constant && right.constant) return compareKnown(operator, left.constant.value, right.constant.value);
  if (operator === '==') return equality(left, right);
  if (operator === '!=') return negation(equality(left, right));
  if (isInstant(left) !== isInstant(right))
    throw new JinjaError('compares a time with something that is not a time', at);
  return computed('boolean', `(${left.code} ${operator} ${right.code})`);
}

const isInstant = ({ kind }: Value): boolean => kind === 'time' || kind === 'day';

function compareKnown(operator: string, left: unknown, right: unknown): Value {
  const same = JSON.stringify(left ?? null) === JSON.stringify(right ?? null);
  if (operator === '==') return constant(same);
  if (operator === '!=') return constant(!same);
  if (typeof left !== typeof right || (typeof left !== 'number' && typeof left !== 'string')) return constant(false);
  const [a, b] = [left, right as number | string];
  return constant(operator === '<' ? a < b : operator === '<=' ? a <= b : operator === '>' ? a > b : a >= b);
}

/** A missing value equals nothing; the None that `.get()` gives for one equals None. */
function equality(left: Value, right: Value): Value {
  const [known, other] = left.constant ? [left, right] : [right, left];
  if (known.constant?.value === null && other.absent === 'none') {
    return computed('boolean', `($exists(${other.code}) ? ${other.code} = null : true)`);
  }
  if (known.constant?.value === '' && other.kind === 'text') return computed('boolean', `(${other.code} = "")`);
  return computed('boolean', `(${left.code} = ${right.code})`);
}

export function contained(left: Value, right: Value, at: number): Value {
  if (right.constant) {
    const { value } = right.constant;
    if (left.constant) return constant(knownIn(left.constant.value, value));
    if (typeof value === 'string') return computed('boolean', `$contains(${right.code}, ${text(left).code})`);
    if (Array.isArray(value)) return computed('boolean', `(${left.code} in ${right.code})`);
    if (typeof value === 'object' && value !== null) {
      return computed('boolean', `(${left.code} in [${Object.keys(value).map(quote).join(', ')}])`);
    }
    return constant(false);
  }
  if (right.member && right.kind === 'object') return inStructure(left, right, at);
  if (right.kind === 'text')
    return computed('boolean', `($contains(${right.code}, ${text(left).code}) ? true : false)`);
  if (right.kind === 'list') return computed('boolean', `(${left.code} in ${right.code})`);
  const name = left.constant?.value;
  const part = typeof name === 'string' ? step(name) : null;
  if (right.kind === 'object' && part !== null) {
    return computed('boolean', right.code === '$' ? `$exists($.${part})` : `$exists(${right.code}.${part})`);
  }
  const keys = `${left.code} in $keys(${right.code})`;
  if (right.kind === 'object') return computed('boolean', `(${keys})`);
  const asText = left.kind === 'text' || left.kind === 'any' ? left.code : `$string(${left.code})`;
  return computed(
    'boolean',
    `($type(${right.code}) = "string" ? $contains(${right.code}, ${asText}) : $type(${right.code}) = "object" ? ${keys} : ${left.code} in ${right.code})`,
  );
}

function inStructure(left: Value, right: Value, at: number): Value {
  const name = left.constant?.value;
  if (typeof name !== 'string') throw new JinjaError('looks up a computed name', at);
  const found = right.member?.(name) ?? null;
  if (found === null) return constant(false);
  return found.constant ? constant(found.constant.value !== undefined) : computed('boolean', `$exists(${found.code})`);
}

function knownIn(value: unknown, container: unknown): boolean {
  if (typeof container === 'string') return container.includes(shown(value));
  if (Array.isArray(container)) return container.includes(value);
  return typeof container === 'object' && container !== null && Object.hasOwn(container, shown(value));
}

export function arithmetic(operator: string, operands: Operands): Value {
  const { left, right, at } = operands;
  if (left.constant && right.constant) return knownResult(operator, operands);
  if (left.kind === 'duration' || right.kind === 'duration' || isInstant(left) || isInstant(right)) {
    return withTime(operator, operands);
  }
  if (operator === '+') return sum(left, right);
  if (operator === '//') return computed('number', `$floor(${number(left)} / ${number(right)})`);
  if (operator === '**') return computed('number', `$power(${number(left)}, ${number(right)})`);
  if (!['-', '*', '/', '%'].includes(operator)) throw new JinjaError(`has the operator ${operator}`, at);
  return computed('number', `(${number(left)} ${operator} ${number(right)})`);
}

const number = ({ code }: Value): string => code;

function sum(left: Value, right: Value): Value {
  const isText = ({ kind }: Value): boolean => kind === 'text';
  if (isText(left) || isText(right)) return computed('text', `(${left.code} & ${right.code})`);
  if (left.kind === 'number' || right.kind === 'number') return computed('number', `(${left.code} + ${right.code})`);
  if (left.kind === 'list' || right.kind === 'list') return computed('list', `$append(${left.code}, ${right.code})`);
  return computed(
    'any',
    `($type(${left.code}) = "number" and $type(${right.code}) = "number" ? ${left.code} + ${right.code} : ${left.code} & ${right.code})`,
  );
}

/** A time moved by a duration; other arithmetic with times has no counterpart. */
function withTime(operator: string, { left, right, at }: Operands): Value {
  if (isInstant(left) && right.kind === 'duration' && (operator === '-' || operator === '+')) {
    const by = durationOf(right, at);
    return computed(left.kind, moveTime(left.code, by, operator === '-' ? -1 : 1));
  }
  if (operator === '+' && left.kind === 'duration' && isInstant(right)) {
    return computed(right.kind, moveTime(right.code, durationOf(left, at), 1));
  }
  throw new JinjaError(`computes with times by ${operator}, which has no counterpart here`, at);
}

function durationOf(value: Value, at: number): IsoDuration {
  const known = value.constant?.value;
  if (typeof known === 'object' && known !== null && 'months' in known && 'ms' in known) return known as IsoDuration;
  if (value.constant === undefined) {
    throw new JinjaError('has a duration that is computed', at);
  }
  throw new JinjaError('has a duration that cannot be read', at);
}

function knownResult(operator: string, { left, right, at }: Operands): Value {
  const a = left.constant?.value;
  const b = right.constant?.value;
  if (operator === '+' && (typeof a === 'string' || typeof b === 'string')) return constant(shown(a) + shown(b));
  if (operator === '+' && Array.isArray(a) && Array.isArray(b)) return constant([...a, ...b]);
  if (operator === '*' && typeof a === 'string' && typeof b === 'number' && b * a.length < 1_000)
    return constant(a.repeat(Math.max(0, b)));
  if (typeof a !== 'number' || typeof b !== 'number') {
    if (isTruthy(left.kind === 'duration')) return withTime(operator, { left, right, at });
    throw new JinjaError(`applies ${operator} to something that is not a number`, at);
  }
  const results: Readonly<Record<string, number>> = {
    '+': a + b,
    '-': a - b,
    '*': a * b,
    '/': a / b,
    '//': Math.floor(a / b),
    '%': a - Math.floor(a / b) * b,
    '**': a ** b,
  };
  const result = results[operator];
  if (result === undefined || !Number.isFinite(result)) throw new JinjaError(`has no result for ${operator}`, at);
  return constant(result);
}
