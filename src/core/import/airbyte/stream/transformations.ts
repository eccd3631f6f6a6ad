import { type Component, partsOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { literalOf, shown, text } from '../jinja/python.ts';
import { constant, pathValue, quote, type Scope, step, type Value } from '../jinja/value.ts';
import { joined } from '../manifest/origins.ts';
import { refuse } from '../refusal.ts';
import { conditionOf, evaluate, expressionOf, knownText } from '../render.ts';
import {
  fieldsFlattened,
  fieldsOf,
  flattenPath,
  keysReplaced,
  keysToLower,
  keysToSnakeCase,
} from './key-transformations.ts';
import { recordScope, requestScope, type Slice, startScope } from './scopes.ts';

export interface Shaped {
  /** JSONata over an item; `null` leaves it unchanged. */
  readonly code: string | null;
  /** Top-level fields that change; `*` for any. */
  readonly changed: ReadonlySet<string>;
  /** JSONata by name for fields that depend on the window of a page, which only fields of the page see. */
  readonly late: ReadonlyMap<string, string>;
}

interface Setting {
  readonly config: Config;
  readonly slice: Slice;
}

interface Found {
  readonly changed: Set<string>;
  readonly late: Map<string, string>;
}

type Step = (record: string) => string;

/** Applies each transformation to the result of the one before. */
export function transformRecords(
  transformations: readonly Component[],
  { input, ...setting }: Setting & { readonly input: string | null },
): Shaped {
  const changed = new Set<string>();
  const late = new Map<string, string>();
  const steps = transformations.flatMap((component) => stepsOf(component, setting, { changed, late }));
  if (steps.length === 0) return { code: input, changed, late };
  const [first, ...rest] = steps;
  if (input === null && rest.length === 0 && first !== undefined) return { code: first('$'), changed, late };
  let record = '$';
  const lines: string[] = [];
  if (input !== null) {
    lines.push(`$r0 := ${input}`);
    record = '$r0';
  }
  for (const [index, make] of steps.entries()) {
    const name = `$r${index + 1}`;
    lines.push(`${name} := ${make(record)}`);
    record = name;
  }
  return { code: `(${lines.join('; ')}; ${record})`, changed, late };
}

function stepsOf(component: Component, setting: Setting, { changed, late }: Found): readonly Step[] {
  const any = (make: Step): readonly Step[] => {
    changed.add('*');
    return [make];
  };
  switch (component.type) {
    case 'AddFields':
      return addFields(component, setting, { changed, late });
    case 'RemoveFields':
      return removeFields(component, setting, changed);
    case 'KeysToLower':
      return any(keysToLower);
    case 'KeysToSnakeCase':
      return any(keysToSnakeCase);
    case 'KeysReplace':
      return any(keysReplaced(component, setting));
    case 'FlattenFields':
      return any(fieldsFlattened(component));
    case 'DpathFlattenFields':
      return any(flattenPath(component, setting));
    default:
      return [
        refuseType(
          component,
          'AddFields, RemoveFields, FlattenFields, DpathFlattenFields, KeysToLower, KeysToSnakeCase and KeysReplace are converted',
        ),
      ];
  }
}

function addFields(component: Component, setting: Setting, { changed, late }: Found): readonly Step[] {
  const condition = textOf(component, 'condition') ?? '';
  const fields = partsOf(component, 'fields').map((field) => ({ field, path: fieldPath(field) }));
  for (const { path } of fields) changed.add(path[0] ?? '');
  const inMap = fields.filter(({ field, path }) => {
    const code = condition === '' && path.length === 1 ? windowValue(field, setting) : null;
    if (code !== null) late.set(path[0] ?? '', code);
    return code === null;
  });
  return inMap.map(
    ({ field, path }): Step =>
      (record) => {
        const scope = recordScope({ component: field, config: setting.config, slice: setting.slice }, record);
        const value = addedValue(field, scope);
        const added = withField(record, path, value);
        if (condition === '') return added;
        const more = { value: pathValue('$value'), path: constant(path) };
        const inner = recordScope({ component, config: setting.config, slice: setting.slice }, record, more);
        const test = conditionOf(condition, inner, pathAt(component, 'condition'));
        if (test.constant) return test.constant.value === true ? added : record;
        return `($value := ${value}; ${expressionOf(test)} ? ${withField(record, path, '$value')} : ${record})`;
      },
  );
}

/** JSONata for a value that depends on the window; `null` if it does not. */
function windowValue(field: Component, { config, slice }: Setting): string | null {
  const template = valueOf(field, 'value');
  if (typeof template !== 'string' || !/\b(?:stream_interval|stream_slice|stream_partition)\b/.test(template))
    return null;
  const names = [...slice.inRequest.keys()].filter((name) => !slice.inRecord.has(name));
  if (!names.some((name) => template.includes(name))) return null;
  const scope = requestScope({ component: field, config, slice });
  return addedValue(field, scope);
}

function fieldPath(field: Component): readonly string[] {
  const path = valueOf(field, 'path');
  const at = pathAt(field, 'path');
  if (!Array.isArray(path) || path.length === 0) return refuse(at, 'expected a list of names');
  return path.map((name) => {
    if (typeof name !== 'string') return refuse(at, 'a place in a list cannot be set');
    if (/[*?[\]{}]|^\d+$|^__proto__$/.test(name) || step(name) === null)
      return refuse(at, `the name ${quote(name.slice(0, 100))} cannot be set`);
    return name;
  });
}

function withField(record: string, path: readonly string[], value: string): string {
  const [name = '', ...rest] = path;
  if (rest.length === 0) return `$merge([${record}, {${quote(name)}: ${value}}])`;
  const inner = `${record}.${step(name) ?? ''}`;
  const base = `($type(${inner}) = "object" ? ${inner} : {})`;
  // JSONata has no name for the inner object that a path could begin with.
  return `$merge([${record}, {${quote(name)}: ($o := ${base}; ${withField('$o', rest, value)})}])`;
}

/** A missing value is an empty text, as Jinja renders it; a text that reads like a literal of Python becomes one. */
function addedValue(field: Component, scope: Scope): string {
  const at = pathAt(field, 'value');
  const template = valueOf(field, 'value');
  if (template === undefined) return refuse(at, 'it has no value');
  if (typeof template !== 'string') return quote(shown(template));
  const raw = evaluate(template, scope, at);
  const type = textOf(field, 'value_type');
  if (type !== undefined) return typedValue(raw, type, at);
  const value = literalOf(raw);
  if (value.constant) return value.constant.value === undefined ? '""' : value.code;
  if (value.kind === 'number' || value.kind === 'boolean' || value.kind === 'list' || value.kind === 'object')
    return value.code;
  const missing = raw.absent === 'none' ? 'null' : '""';
  return `($a := ${value.code}; $exists($a) ? $a : ${missing})`;
}

/** A literal of another type stays a text. */
function typedValue(raw: Value, type: string, at: string): string {
  const shownText = text(raw);
  if (type === 'string') return shownText.constant ? shownText.code : `(${shownText.code} & "")`;
  const names: Readonly<Record<string, string>> = { integer: 'number', number: 'number', boolean: 'boolean' };
  const name = names[type];
  if (name === undefined) return refuse(at, `the value type ${type.slice(0, 50)} is not known`);
  const value = literalOf(raw);
  if (value.kind === name && value.constant === undefined) return value.code;
  if (value.constant) return typeof value.constant.value === name ? value.code : shownText.code;
  return `($a := ${value.code}; $type($a) = "${name}" ? $a : (${shownText.code} & ""))`;
}

function removeFields(component: Component, setting: Setting, changed: Set<string>): readonly Step[] {
  const at = pathAt(component, 'field_pointers');
  const pointers = valueOf(component, 'field_pointers');
  if (!Array.isArray(pointers)) return refuse(at, 'expected a list of pointers');
  const condition = textOf(component, 'condition') ?? '';
  return pointers.map((pointer, index): Step => {
    const here = joined(at, String(index));
    if (!Array.isArray(pointer) || pointer.length === 0) return refuse(here, 'expected a list of names');
    const names = pointer.map((name) =>
      typeof name === 'string'
        ? knownText(name, startScope({ component, config: setting.config }), here)
        : refuse(here, 'an item of a list is not removed'),
    );
    const test = removalTest(component, condition, setting);
    changed.add(names.length === 1 && names[0] !== '*' && names[0] !== '**' ? (names[0] ?? '') : '*');
    return removal(names, test, here);
  });
}

/** JSONata for whether the value `$x` is removed; `null` for always. */
function removalTest(component: Component, condition: string, { config, slice }: Setting): string | null {
  if (condition === '') return null;
  const scope = recordScope({ component, config, slice }, '$', { property: { kind: 'any', code: '$x', plain: true } });
  const test = conditionOf(condition, scope, pathAt(component, 'condition'));
  return test.constant?.value === true ? null : expressionOf(test);
}

function removal(names: readonly string[], test: string | null, at: string): Step {
  if (test !== null) return (record) => leavesRemoved(record, test);
  const last = names.at(-1) ?? '';
  const parents = names.slice(0, -1);
  const odd = names.find(
    (name, index) =>
      (/[*?[\]]/.test(name) && !(name === '**' && index === 0) && !(name === '*' && names.length === 1)) ||
      step(name) === null,
  );
  if (odd !== undefined) return refuse(at, `the pattern ${quote(odd.slice(0, 100))} is not converted`);
  if (last === '**') return refuse(at, 'a record without any field is no record');
  if (parents.length === 0) {
    const chosen = last === '*' ? 'true' : `$k = ${quote(last)}`;
    return (record) => `$merge([$sift(${record}, function($x, $k) { (${chosen}) ? false : true })])`;
  }
  const location = parents.map((name) => (name === '**' ? name : (step(name) ?? ''))).join('.');
  return (record) => `(${record} ~> |${location}|{}, [${quote(last)}]|)`;
}

/** With a condition the CDK removes every value that meets it, at any depth; in a list null takes its place. */
const leavesRemoved = (record: string, test: string): string =>
  [
    `($drops := function($x) { $type($x) in ["object", "array"] ? false : (${test}) };`,
    '$clean := function($o) { $type($o) = "object"',
    `? ${fieldsOf('$o', '$drops($x) ? {} : {$k: $clean($x)}')}`,
    ': $type($o) = "array"',
    '? ($last := $max($append([-1], $map($o, function($x, $i) { $drops($x) ? -1 : $i })));',
    '[$map([$filter($o, function($x, $i) { $i <= $last })], function($x) { $drops($x) ? null : $clean($x) })])',
    `: $o }; $clean(${record}))`,
  ].join(' ');
