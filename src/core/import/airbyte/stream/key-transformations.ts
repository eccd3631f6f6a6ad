import { type Component, isTrue, partOf, pathAt, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { quote, step } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';
import { knownText } from '../render.ts';
import { startScope } from './scopes.ts';

type Step = (record: string) => string;

/**
 * Merges the objects that `made` gives for each name `$k` and value `$x` of another object. Does not use JSONata's
 * `$each`, as the name stands for the values of `forEach`.
 */
export const fieldsOf = (object: string, made: string): string =>
  `$merge($append({}, $map($keys(${object}), function($k) { ($x := $lookup(${object}, $k); ${made}) })))`;

export const keysToLower: Step = (record) => fieldsOf(record, '{$lowercase($k): $x}');

/** Names in snake case, also those of objects inside. */
export const keysToSnakeCase: Step = (record) =>
  [
    '($snakeKey := function($k) { (',
    '$t := [$match($k, /[A-Z]+[a-z]*|[a-z]+|[0-9]+|[^a-zA-Z0-9]+/).match];',
    '$n := $count($t);',
    '$w := $map($t, function($s) { $contains($s, /^[a-zA-Z0-9]/) ? $lowercase($s) : "" });',
    '$f := [$filter($w, function($s, $i) { $n < 3 or $i = 0 or $i = $n - 1 or $s != "" })];',
    '($contains($t[0], /^[0-9]/) ? "_" : "") & $join($f, "_")',
    ') };',
    `$snake := function($o) { ${fieldsOf('$o', '{$snakeKey($k): $type($x) = "object" ? $snake($x) : $x}')} };`,
    `$snake(${record}))`,
  ].join(' ');

/** Replaces `old` by `new`, also in the names of objects inside. Refuses an empty `old`. */
export function keysReplaced(component: Component, { config }: { readonly config: Config }): Step {
  const scope = startScope({ component, config });
  const known = (key: string): string => knownText(textOf(component, key) ?? '', scope, pathAt(component, key));
  const [old, by] = [known('old'), known('new')];
  if (old === '') return refuse(pathAt(component, 'old'), 'an empty text cannot be replaced');
  return (record) =>
    `($renamed := function($o) { ${fieldsOf('$o', `{$replace($k, ${quote(old)}, ${quote(by.replaceAll('$', '$$'))}): $type($x) = "object" ? $renamed($x) : $x}`)} }; $renamed(${record}))`;
}

export function flattenPath(component: Component, { config }: { readonly config: Config }): Step {
  const at = pathAt(component, 'field_path');
  const fields = valueOf(component, 'field_path');
  if (!Array.isArray(fields) || fields.length === 0) return refuse(at, 'expected a list of names');
  const scope = startScope({ component, config });
  const names = fields.map((name) => knownText(String(name), scope, at));
  const steps = names.map((name) => (name === '*' ? null : step(name)));
  if (steps.includes(null))
    return refuse(at, 'a path with * or with a name that JSONata cannot write is not converted');
  const { prefix, suffix } = affixesOf(component, config);
  const removed = isTrue(component, 'delete_origin_value');
  const replaces = isTrue(component, 'replace_record');
  const location = steps.slice(0, -1).join('.') || '$';
  const last = names.at(-1) ?? '';
  return (record) => {
    const inner =
      prefix === '' && suffix === '' ? '$e' : fieldsOf('$e', `{${quote(prefix)} & $k & ${quote(suffix)}: $x}`);
    const base = removed ? `(${record} ~> |${location}|{}, [${quote(last)}]|)` : record;
    const merged = `$count($keys($f)[$ in $keys(${record})]) > 0 ? ${record} : $merge([${base}, $f])`;
    const result = replaces ? `$count($keys($f)) > 0 ? $f : ${record}` : merged;
    return `($e := ${record}.${steps.join('.')}; $type($e) = "object" ? ($f := ${inner}; ${result}) : ${record})`;
  };
}

function affixesOf(component: Component, config: Config): { readonly prefix: string; readonly suffix: string } {
  const part = partOf(component, 'key_transformation');
  if (part === null) return { prefix: '', suffix: '' };
  const scope = startScope({ component: part, config });
  const affix = (key: string): string => {
    const template = textOf(part, key);
    return template === undefined ? '' : knownText(template, scope, pathAt(part, key));
  };
  return { prefix: affix('prefix'), suffix: affix('suffix') };
}

/**
 * Flattens objects, and lists unless they stay. A value keeps its own name, or gets its whole path where the name is
 * taken and everywhere after the first list. The names depend on the order, which is that of the CDK: the last value
 * first.
 */
export function fieldsFlattened(component: Component): Step {
  const pushed = (list: string, key: string, value: string): string =>
    `$reduce(${list}, function($a, $c, $i) { {"k": ${key}, "v": ${value}, "next": $a} }, $next)`;
  const named = '$force or $exists($lookup($out, $c)) ? $k & "." & $c : $c';
  const fields = `$flat(${pushed('$append([], $keys($v))', named, '$lookup($v, $c)')}, $out, $force)`;
  const items = `$flat(${pushed('$v', '$k & "." & $i', '$c')}, $out, $force or $count($v) > 0)`;
  const inList = valueOf(component, 'flatten_lists') === false ? '' : ` : $type($v) = "array" ? ${items}`;
  const code = [
    '($flat := function($s, $out, $force) { $s = null ? $out :',
    '($v := $lookup($s, "v"); $k := $lookup($s, "k"); $next := $lookup($s, "next");',
    `$type($v) = "object" ? ${fields}${inList} : $flat($next, $merge([$out, {$k: $v}]), $force)) };`,
  ].join(' ');
  return (record) => `${code} $flat({"k": "_", "v": ${record}, "next": null}, {}, false))`;
}
