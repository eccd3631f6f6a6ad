import { cutText } from '../../json/cut-text.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { Refusal } from '../refusal.ts';
import { identifier, plainName, singular, step } from './names.ts';
import type { Operation, Parameter } from './operations.ts';
import type { Params } from './params.ts';
import type { ReadShape, Shape } from './shape.ts';

/** A resource that others can be partitions of: its records supply the values of their path parameters. */
export interface Parent {
  readonly key: string;
  readonly record: Shape;
  /** The field that identifies a record among those of its own parent. */
  readonly keyField: string;
  /** Sources of its own path parameters, by position in the path. */
  readonly values: readonly PathValue[];
}

/** The source of a path parameter. `field` is the name under which records carry it. */
type PathValue =
  | { readonly kind: 'param'; readonly key: string }
  | { readonly kind: 'each'; readonly expression: string; readonly field: string };

export interface Partitions {
  readonly path: string;
  readonly forEach: JsonObject | null;
  readonly values: readonly PathValue[];
  readonly addFields: Readonly<Record<string, string>>;
  readonly params: readonly string[];
  readonly parent: Parent | null;
}

interface Tools {
  readonly params: Params;
  readonly read: ReadShape;
  /** By path, with its parameters written as `{}`. */
  readonly parents: ReadonlyMap<string, Parent>;
}

/** Most parameters of a path, because the text before each is looked at. */
const holesMax = 20;

const hole = /\{([^{}]+)\}/g;

export const anonymous = (path: string): string =>
  path
    .replaceAll(hole, '{}')
    .replace(/\.json$/i, '')
    .replace(/\/$/, '');

/**
 * The values of the parameters of a path. The last parameter whose values another list has makes a partition for each
 * record of that list. The list's own parameters come with its records; others are values of the connection. Throws a
 * {@link Refusal}.
 */
export function partitionsOf(operation: Operation, record: Shape, tools: Tools): Partitions {
  const { path } = operation;
  if (!path.startsWith('/') || path.length > 1000 || /\{\{|[?#\\\s]|\/\/|(^|\/)\.{1,2}(\/|$)/.test(path)) {
    throw new Refusal('its path has more than segments and parameters');
  }
  const holes = [...path.matchAll(hole)].map((match) => ({
    name: match[1] ?? '',
    start: match.index,
    end: match.index + match[0].length,
  }));
  if (holes.length > holesMax) throw new Refusal(`its path has more than ${holesMax} parameters`);
  const found = holes.length === 0 ? null : parentOf(path, { holes, tools });
  const values: PathValue[] = found === null ? [] : [...valuesOf(found, record)];
  for (const { name, start } of holes.slice(values.length)) {
    values.push({ kind: 'param', key: paramOf(operation, { name, before: path.slice(0, start), tools }) });
  }
  let index = 0;
  const written = path.replaceAll(hole, () => expressionOf(values[index++]));
  const fields = values.filter((value) => value.kind === 'each');
  return {
    path: written,
    forEach: found === null ? null : { as: found.as, resource: found.parent.key },
    values,
    addFields: Object.fromEntries(fields.map(({ field, expression }) => [field, expression])),
    params: values.flatMap((value) => (value.kind === 'param' ? [value.key] : [])),
    parent: found?.parent ?? null,
  };
}

interface Hole {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

interface FoundParent {
  readonly parent: Parent;
  readonly as: string;
  readonly field: string;
  readonly name: string;
}

/** The list at the longest path before a parameter, if its records have a field for it. */
function parentOf(
  path: string,
  { holes, tools }: { readonly holes: readonly Hole[]; readonly tools: Tools },
): FoundParent | null {
  for (const { name, start, end } of holes.toReversed()) {
    const isSegment = path[start - 1] === '/' && (path[end] === '/' || end === path.length);
    const parent = isSegment ? tools.parents.get(anonymous(path.slice(0, start))) : undefined;
    if (parent === undefined) continue;
    const owner = ownerOf(path.slice(0, start));
    const field = fieldFor(name, { owner, parent, read: tools.read });
    if (field !== null) return { parent, as: identifier(owner, 'parent'), field, name };
  }
  return null;
}

/** `project` of `/projects/`. */
const ownerOf = (before: string): string =>
  singular(
    before
      .split('/')
      .filter((segment) => segment !== '' && !segment.includes('{'))
      .at(-1) ?? '',
  );

/** The field that a parameter names: `id` for `project_id`, `number` for `issue_number`, the key for `project`. */
function fieldFor(
  name: string,
  { owner, parent, read }: { readonly owner: string; readonly parent: Parent; readonly read: ReadShape },
): string | null {
  const rest = withoutOwner(name, owner);
  const isScalar = (field: string): boolean =>
    [...read(parent.record.properties.get(field)).types].every((type) =>
      ['string', 'integer', 'number'].includes(type),
    );
  const named = [...parent.record.properties.keys()].find(
    (field) => [plainName(name), rest].includes(plainName(field)) && step(field) === field && isScalar(field),
  );
  if (named !== undefined) return named;
  return ['', 'id', 'uuid', 'key'].includes(rest) && step(parent.keyField) === parent.keyField ? parent.keyField : null;
}

/** `slug` of `team_slug` and `teamSlug`; `username` is one word. */
function withoutOwner(name: string, owner: string): string {
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').split(/[^A-Za-z0-9]+/);
  const count = words.findIndex((_, index) => plainName(words.slice(0, index + 1).join('')) === plainName(owner)) + 1;
  return plainName(words.slice(count).join(''));
}

function valuesOf({ parent, as, field, name }: FoundParent, record: Shape): readonly PathValue[] {
  const taken = new Set([...record.properties.keys()].map((one) => one.toLowerCase()));
  const freeName = (wanted: string): string => {
    let free = wanted;
    while (taken.has(free.toLowerCase())) free = `parent_${free}`;
    taken.add(free.toLowerCase());
    return free;
  };
  const inherited = parent.values.map(
    (value): PathValue =>
      value.kind === 'param'
        ? value
        : { kind: 'each', expression: `each.${as}.${value.field}`, field: freeName(value.field) },
  );
  const plain = plainName(name);
  const wanted = plain.startsWith(plainName(as)) ? identifier(name, 'parent') : `${as}_${identifier(name, 'id')}`;
  return [...inherited, { kind: 'each', expression: `each.${as}.${field}`, field: freeName(wanted) }];
}

function expressionOf(value: PathValue | undefined): string {
  if (value === undefined) return '';
  return value.kind === 'param' ? `{{ params.${value.key} }}` : `{{ ${value.expression} }}`;
}

/** One value of the connection for all paths with a parameter of this name; the text before it tells `{id}` apart. */
function paramOf(
  operation: Operation,
  { name, before, tools }: { readonly name: string; readonly before: string; readonly tools: Tools },
): string {
  const parameter = operation.parameters.find((one) => one.in === 'path' && one.name === name);
  const types = parameter === undefined ? new Set<string>() : tools.read(parameter.schema).types;
  if (types.has('object') || types.has('array'))
    throw new Refusal(`its path parameter \`${name.slice(0, 100)}\` is no single value`);
  const isGeneral = ['id', 'uuid', 'key', 'name', 'slug', 'code', 'number', 'type'].includes(plainName(name));
  const owner = ownerOf(before);
  const wanted = isGeneral && owner !== '' ? `${owner}_${name}` : name;
  return tools.params.add(`path ${wanted}`, wanted, parameterParam(parameter, name));
}

/** Optional, because a connection that does not sync these resources needs no value. */
export function parameterParam(parameter: Parameter | undefined, name: string): JsonObject {
  const description = cutText(parameter?.description ?? `The value of \`${name}\` in requests.`, 300);
  return { type: 'string', required: false, description };
}
