import type { Arguments } from './arguments.ts';
import { callMethod } from './methods.ts';
import { isTruthy, shown, text, truth } from './python.ts';
import { JinjaError } from './syntax.ts';
import { checkLength, computed, constant, quote, step, type Value } from './value.ts';

type Filter = (of: Value, args: Arguments, at: number) => Value;

const filters: Readonly<Record<string, Filter>> = {
  int: (of, args) => wholeNumber(of, args.get(0, 'default')?.code ?? '0'),
  float: (of) => (typeof of.constant?.value === 'number' ? of : computed('number', `$number(${of.code})`)),
  string: asString,
  lower: (of, args, at) => callMethod('lower', of, args, at),
  upper: (of, args, at) => callMethod('upper', of, args, at),
  title: (of, args, at) => callMethod('title', of, args, at),
  capitalize: (of) =>
    computed('text', `($uppercase($substring(${text(of).code}, 0, 1)) & $lowercase($substring(${text(of).code}, 1)))`),
  trim: (of, args, at) => callMethod('strip', of, args, at),
  replace: (of, args, at) => callMethod('replace', of, args, at),
  length: lengthOf,
  count: lengthOf,
  default: defaultOf,
  d: defaultOf,
  tojson: (of) => {
    if (of.constant) return { ...constant(JSON.stringify(of.constant.value)) };
    return of.kind === 'text'
      ? computed('text', `("\\"" & ${of.code} & "\\"")`)
      : { ...computed('any', of.code), final: true };
  },
  join: joinOf,
  first: (of) =>
    Array.isArray(of.constant?.value) ? constant(of.constant.value[0]) : computed('any', `(${of.code})[0]`),
  last: (of) =>
    Array.isArray(of.constant?.value) ? constant(of.constant.value.at(-1)) : computed('any', `(${of.code})[-1]`),
  list: (of, _args, at) => {
    if (of.kind === 'text') throw new JinjaError('uses `list` on a string, which is not supported', at);
    return of.constant || of.kind === 'list' ? of : computed('list', `[${of.code}]`);
  },
  unique: (of) => computed('list', `[$distinct(${of.code})]`),
  sort: (of, args, at) => {
    if (args.count > 0) throw new JinjaError('uses `sort` with arguments, which are not supported', at);
    return computed('list', `[$sort(${of.code})]`);
  },
  sum: (of) => computed('number', `$sum(${of.code})`),
  max: (of) => computed('any', `$max(${of.code})`),
  min: (of) => computed('any', `$min(${of.code})`),
  abs: (of) => computed('number', `$abs(${of.code})`),
  round: (of, args) => computed('number', `$round(${of.code}, ${args.get(0, 'precision')?.code ?? '0'})`),
  map: mapOf,
  select: (of, args, at) => selected(of, args, { keep: true, at }),
  reject: (of, args, at) => selected(of, args, { keep: false, at }),
  selectattr: (of, args, at) => selectedBy(of, args, { keep: true, at }),
  rejectattr: (of, args, at) => selectedBy(of, args, { keep: false, at }),
  urlencode: (of) => computed('text', `$encodeUrlComponent(${text(of).code})`),
  base64encode: (of) => computed('text', `$base64encode(${text(of).code})`),
  base64decode: (of) => computed('text', `$base64decode(${text(of).code})`),
  base64binascii_decode: (of) => computed('text', `$base64encode(${text(of).code})`),
  regex_search: (of, args, at) => {
    const pattern = regexOf(args.get(0, 'regex'), at);
    return computed(
      'text',
      `($m := ($match(${text(of).code}, ${pattern}, 1))[0]; $exists($m.groups) and $count($m.groups) > 0 ? ($m.groups)[0] : "")`,
    );
  },
  regex_replace: (of, args, at) => {
    const by = args.get(1, 'replacement')?.constant?.value;
    if (typeof by !== 'string') throw new JinjaError('uses `replace` with a computed string', at);
    const groups = by.replaceAll('$', '$$').replaceAll(/\\(\d)/g, '$$$1');
    return computed('text', `$replace(${text(of).code}, ${regexOf(args.get(0, 'regex'), at)}, ${quote(groups)})`);
  },
  safe: (of) => of,
  e: (of) => of,
};

/** Throws `JinjaError` for a filter without counterpart. */
export function callFilter(name: string, of: Value, args: Arguments, at: number): Value {
  const filter = Object.hasOwn(filters, name) ? filters[name] : undefined;
  if (filter) return filter(of, args, at);
  throw new JinjaError(`uses the filter \`${name.slice(0, 100)}\`, which has no counterpart`, at);
}

function wholeNumber(of: Value, fallback: string): Value {
  if (of.constant) {
    const number = Math.trunc(Number(of.constant.value ?? Number.NaN));
    if (Number.isFinite(number)) return constant(number);
  }
  const trunc = (code: string): string => `(${code} < 0 ? $ceil(${code}) : $floor(${code}))`;
  if (of.kind === 'number') return computed('number', trunc(of.code));
  const numeric = `$contains($string($v), /^\\s*-?[0-9]+(\\.[0-9]+)?\\s*$/)`;
  return computed(
    'number',
    `($v := ${of.code}; $exists($v) and ${numeric} ? ${trunc('$number($trim($string($v)))')} : ${fallback})`,
  );
}

/** A number becomes a text for good; a text may still be read as a literal. */
function asString(of: Value): Value {
  if (of.constant) {
    const { value } = of.constant;
    return typeof value === 'string' ? of : { ...constant(JSON.stringify(value ?? null)), final: true };
  }
  if (of.kind === 'text') return of;
  if (of.kind === 'time' || of.kind === 'day') return text(of);
  return { ...computed('text', `$string(${of.code})`), final: true };
}

function lengthOf(of: Value): Value {
  if (of.constant) {
    const { value } = of.constant;
    if (typeof value === 'string' || Array.isArray(value)) return constant(value.length);
    return constant(typeof value === 'object' && value !== null ? Object.keys(value).length : 0);
  }
  if (of.kind === 'text') return computed('number', `$length(${of.code})`);
  if (of.kind === 'list') return computed('number', `$count(${of.code})`);
  return computed(
    'number',
    `($type(${of.code}) = "string" ? $length(${of.code}) : $type(${of.code}) = "object" ? $count($keys(${of.code})) : $count(${of.code}))`,
  );
}

function defaultOf(of: Value, args: Arguments): Value {
  const fallback = args.get(0, 'default_value') ?? constant('');
  const alsoEmpty = args.get(1, 'boolean')?.constant?.value === true;
  if (of.constant) {
    const { value } = of.constant;
    return value === undefined || (alsoEmpty && !isTruthy(value)) ? fallback : of;
  }
  const test = alsoEmpty ? truth(of).code : `$exists(${of.code})`;
  return computed(of.kind === fallback.kind ? of.kind : 'any', `(${test} ? ${of.code} : ${fallback.code})`);
}

function joinOf(of: Value, args: Arguments, at: number): Value {
  const by = args.get(0, 'd') ?? constant('');
  if (args.get(1, 'attribute') !== null)
    throw new JinjaError('uses `join` with an attribute, which is not supported', at);
  if (of.constant && by.constant) {
    const { value } = of.constant;
    if (!Array.isArray(value)) throw new JinjaError('applies `join` to something that is not a list', at);
    const separator = shown(by.constant.value);
    checkLength(value.length * separator.length, at);
    return constant(value.map(shown).join(separator));
  }
  return computed('text', `$join($append([], ${of.code}).$string($), ${text(by).code})`);
}

function mapOf(of: Value, args: Arguments, at: number): Value {
  const attribute = args.get(-1, 'attribute')?.constant?.value;
  if (typeof attribute === 'string') {
    const parts = attribute.split('.').map(step);
    if (parts.includes(null)) throw new JinjaError('uses `map` with a field whose name JSONata cannot express', at);
    return computed('list', `[${of.code}.${parts.join('.')}]`);
  }
  const filter = args.get(0)?.constant?.value;
  if (typeof filter !== 'string') throw new JinjaError('uses `map` without the name of a filter', at);
  const none: Arguments = { count: 0, get: () => null };
  const item = callFilter(filter, { kind: 'any', code: '$item', plain: true }, none, at);
  return computed('list', `[$map(${of.code}, function($item) { ${item.code} })]`);
}

function selected(of: Value, args: Arguments, { keep, at }: { readonly keep: boolean; readonly at: number }): Value {
  return computed(
    'list',
    `[$filter(${of.code}, function($item) { ${predicate('$item', args, { first: 0, keep, at })} })]`,
  );
}

function selectedBy(of: Value, args: Arguments, { keep, at }: { readonly keep: boolean; readonly at: number }): Value {
  const attribute = args.get(0)?.constant?.value;
  const part = typeof attribute === 'string' ? step(attribute) : null;
  if (part === null) throw new JinjaError('selects by a computed field', at);
  const test = predicate(`$item.${part}`, args, { first: 1, keep, at });
  return computed('list', `[$filter(${of.code}, function($item) { ${test} })]`);
}

const symbols: Readonly<Record<string, string>> = {
  equalto: '=',
  '==': '=',
  eq: '=',
  in: 'in',
  gt: '>',
  '>': '>',
  lt: '<',
  '<': '<',
  ge: '>=',
  le: '<=',
};

function predicate(
  item: string,
  args: Arguments,
  { first, keep, at }: { readonly first: number; readonly keep: boolean; readonly at: number },
): string {
  const name = args.get(first)?.constant?.value;
  const other = args.get(first + 1);
  const symbol = typeof name === 'string' ? symbols[name] : undefined;
  const isNegated = name === 'ne' || name === '!=';
  let test = item;
  if (isNegated && other) test = `${item} = ${other.code}`;
  else if (symbol !== undefined && other) test = `${item} ${symbol} ${other.code}`;
  else if (name !== undefined) throw new JinjaError(`selects by the test \`${shown(name).slice(0, 50)}\``, at);
  return keep === isNegated ? `${test} ? false : true` : `${test} ? true : false`;
}

/** A regular expression that both languages read alike. */
function regexOf(value: Value | null, at: number): string {
  const pattern = value?.constant?.value;
  if (typeof pattern !== 'string' || pattern === '')
    throw new JinjaError('has a regular expression that is computed', at);
  if (/\(\?(?![:=!])|\\[AZz]|\(\?P/.test(pattern))
    throw new JinjaError('has a regular expression with syntax that only Python knows', at);
  return `/${pattern.replaceAll(/(\\[^])|\//g, (whole, escaped) => escaped ?? `\\${whole}`)}/`;
}
