import type { Arguments } from './arguments.ts';
import { instantOf } from './macros.ts';
import { memberOf } from './member.ts';
import { shown, text } from './python.ts';
import { JinjaError } from './syntax.ts';
import { formatTime } from './time-format.ts';
import { checkLength, computed, constant, missing, quote, type Value } from './value.ts';

type Method = (of: Value, args: Arguments, at: number) => Value;

const methods: Readonly<Record<string, Method>> = {
  get: getValue,
  json: (of, _args, at) => {
    const body = of.member?.('json') ?? null;
    if (body === null) throw new JinjaError('calls `json()` on something that is not a response', at);
    return body;
  },
  keys: (of) => computed('list', `[$keys(${of.code})]`),
  values: (of) => computed('list', `[$map($keys(${of.code}), function($k) { $lookup(${of.code}, $k) })]`),
  lower: (of) =>
    ofText(
      of,
      (value) => value.toLowerCase(),
      (code) => `$lowercase(${code})`,
    ),
  upper: (of) =>
    ofText(
      of,
      (value) => value.toUpperCase(),
      (code) => `$uppercase(${code})`,
    ),
  strip: (of, args, at) => strip(of, args, { left: true, right: true, at }),
  lstrip: (of, args, at) => strip(of, args, { left: true, right: false, at }),
  rstrip: (of, args, at) => strip(of, args, { left: false, right: true, at }),
  startswith: (of, args, at) => {
    const part = need(args, 0, at);
    return computed('boolean', `($substring(${text(of).code}, 0, $length(${part.code})) = ${part.code})`);
  },
  endswith: (of, args, at) => {
    const part = need(args, 0, at);
    const source = text(of).code;
    return computed(
      'boolean',
      `($length(${source}) >= $length(${part.code}) and $substring(${source}, $length(${source}) - $length(${part.code})) = ${part.code})`,
    );
  },
  replace: replaceText,
  split: splitText,
  join: (of, args, at) => {
    const list = need(args, 0, at);
    return computed('text', `$join($append([], ${list.code}).$string($), ${text(of).code})`);
  },
  zfill: (of, args, at) => computed('text', `$pad(${text(of).code}, -${need(args, 0, at).code}, "0")`),
  strftime: (of, args, at) => {
    const format = args.get(0, 'format')?.constant?.value;
    const code = typeof format === 'string' ? formatTime(instantOf(of, null, at), format) : null;
    if (code === null)
      throw new JinjaError(`has the time format ${JSON.stringify(format)}, which has no counterpart`, at);
    return computed('text', code);
  },
  isoformat: (of, _args, at) => {
    if (of.kind === 'day') return computed('text', formatTime(of.code, '%Y-%m-%d') ?? of.code);
    return computed('text', formatTime(instantOf(of, null, at), '%Y-%m-%dT%H:%M:%S.%f+00:00') ?? of.code);
  },
  timestamp: (of, _args, at) => computed('number', `(${instantOf(of, null, at)} / 1000)`),
  date: (of, _args, at) => {
    const ms = instantOf(of, null, at);
    return computed('day', `($d := ${ms}; $d - $d % 86400000)`);
  },
  title: (of) =>
    computed(
      'text',
      `$join($split(${text(of).code}, " ").($uppercase($substring($, 0, 1)) & $lowercase($substring($, 1))), " ")`,
    ),
  items: (_of, _args, at) => {
    throw new JinjaError('lists the items of an object, which is not supported', at);
  },
};

/** Throws `JinjaError` for a method without counterpart. */
export function callMethod(name: string, of: Value, args: Arguments, at: number): Value {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (method) return method(of, args, at);
  throw new JinjaError(`calls the method \`${name.slice(0, 100)}\`, which has no counterpart`, at);
}

function need(args: Arguments, index: number, at: number): Value {
  const value = args.get(index);
  if (value === null) throw new JinjaError('calls a method without its argument', at);
  return value;
}

/** `.get(key, default)`: None where both are missing. */
function getValue(of: Value, args: Arguments, at: number): Value {
  const found = memberOrMissing(of, need(args, 0, at), at);
  const fallback = args.get(1);
  if (found.constant) {
    if (found.constant.value !== undefined) return found;
    return fallback ?? constant(null);
  }
  if (fallback === null || fallback.constant?.value === null) return { ...found, absent: 'none' };
  const isEmptyObject =
    fallback.constant &&
    typeof fallback.constant.value === 'object' &&
    JSON.stringify(fallback.constant.value) === '{}';
  // A path reads nothing from nothing: `.get('a', {}).get('b')`.
  if (isEmptyObject) return found;
  const kind = found.kind === fallback.kind ? found.kind : 'any';
  return computed(kind, `($exists(${found.code}) ? ${found.code} : ${fallback.code})`);
}

const memberOrMissing = (of: Value, key: Value, at: number): Value => {
  if (of.member && typeof key.constant?.value === 'string') return of.member(key.constant.value) ?? missing;
  return memberOf(of, key, at);
};

function ofText(of: Value, known: (value: string) => string, code: (code: string) => string): Value {
  return of.constant ? constant(known(shown(of.constant.value))) : computed('text', code(text(of).code));
}

function strip(
  of: Value,
  args: Arguments,
  sides: { readonly left: boolean; readonly right: boolean; readonly at: number },
): Value {
  const given = args.get(0);
  const characters = given === null ? undefined : given.constant?.value;
  if (given !== null && typeof characters !== 'string') throw new JinjaError('strips computed characters', sides.at);
  const set = typeof characters === 'string' ? `[${characters.replaceAll(/[\]\\^/-]/g, '\\$&')}]` : '\\s';
  const known = typeof characters === 'string' ? new Set(characters) : null;
  const isStripped = (character = ''): boolean => (known === null ? /^\s$/.test(character) : known.has(character));
  const patterns = [...(sides.left ? [`^${set}+`] : []), ...(sides.right ? [`${set}+$`] : [])];
  const pattern = patterns.join('|');
  return ofText(
    of,
    (value) => {
      let [from, to] = [0, value.length];
      while (sides.left && isStripped(value[from])) from += 1;
      while (sides.right && to > from && isStripped(value[to - 1])) to -= 1;
      return value.slice(from, to);
    },
    (code) => `$replace(${code}, /${pattern}/, "")`,
  );
}

function replaceText(of: Value, args: Arguments, at: number): Value {
  if (of.kind === 'time' || of.kind === 'day')
    throw new JinjaError('replaces parts of a time, which is not supported', at);
  const old = need(args, 0, at);
  const by = need(args, 1, at);
  if (of.constant && typeof old.constant?.value === 'string' && typeof by.constant?.value === 'string') {
    const known = shown(of.constant.value);
    const replacement = shown(by.constant.value);
    checkLength(known.split(old.constant.value).length * replacement.length, at);
    return constant(known.replaceAll(old.constant.value, () => replacement));
  }
  if (old.constant?.value === '') throw new JinjaError('replaces an empty string', at);
  return computed('text', `$replace(${text(of).code}, ${text(old).code}, ${text(by).code})`);
}

function splitText(of: Value, args: Arguments, at: number): Value {
  const separator = args.get(0, 'sep');
  if (args.get(1, 'maxsplit') !== null)
    throw new JinjaError('splits a string a limited number of times, which is not supported', at);
  if (of.constant && typeof separator?.constant?.value === 'string' && separator.constant.value !== '') {
    return constant(shown(of.constant.value).split(separator.constant.value));
  }
  const by = separator === null ? '/\\s+/' : text(separator).code;
  return computed('list', `$split(${text(of).code}, ${by === '""' ? quote(' ') : by})`);
}
