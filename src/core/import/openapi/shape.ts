import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { Refusal } from '../refusal.ts';
import { listOf, type OpenapiDocument, own } from './document.ts';

/** A value as its schema describes it, with `allOf`, `anyOf`, `oneOf` and references folded in. */
export interface Shape {
  /** JSON Schema types without `null`; empty for any value. */
  readonly types: ReadonlySet<string>;
  readonly nullable: boolean;
  /** `null` for none, or for branches that differ. */
  readonly format: string | null;
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
  /** The schema of list items; `undefined` for any. */
  readonly items: unknown;
}

/** Reads each schema once. Throws a {@link Refusal} when compositions nest too deep. */
export type ReadShape = (schema: unknown) => Shape;

const depthMax = 40;
/** Properties with longer names are not looked at. */
const nameLengthMax = 200;
const typeNames = new Set(['string', 'integer', 'number', 'boolean', 'object', 'array']);

const anything: Shape = {
  types: new Set(),
  nullable: false,
  format: null,
  properties: new Map(),
  required: new Set(),
  items: undefined,
};

export function createShapes({ objectOf, spend }: OpenapiDocument): ReadShape {
  const known = new WeakMap<object, Shape>();
  const inProgress = new Set<object>();

  function read(schema: unknown): Shape {
    spend(1);
    const given = objectOf(schema);
    const before = known.get(given);
    if (before !== undefined) return before;
    if (inProgress.size >= depthMax) throw new Refusal(`a schema is composed of more than ${depthMax} levels`);
    inProgress.add(given);
    try {
      const shape = compose(given);
      known.set(given, shape);
      return shape;
    } finally {
      inProgress.delete(given);
    }
  }

  function compose(schema: JsonObject): Shape {
    const parts = [ownShape(schema, spend), ...partsOf(schema, 'allOf').map(read)];
    const choices = ['anyOf', 'oneOf'].flatMap((name) => {
      const branches = partsOf(schema, name);
      if (branches.length === 0) return [];
      return [oneOf(branches.filter((branch) => !isNull(branch)).map(read), { all: branches, spend })];
    });
    return allOf([...parts, ...choices], spend);
  }

  const partsOf = (schema: JsonObject, name: string): readonly unknown[] => {
    const parts = listOf(own(schema, name));
    spend(parts.length);
    // A schema that is composed of itself adds nothing.
    return parts.filter((part) => !inProgress.has(objectOf(part)));
  };

  const isNull = (schema: unknown): boolean => own(objectOf(schema), 'type') === 'null';

  return read;
}

type Spend = OpenapiDocument['spend'];

function ownShape(schema: JsonObject, spend: Spend): Shape {
  const names = typesOf(schema);
  const properties = own(schema, 'properties');
  const all = isJsonObject(properties) ? Object.entries(properties) : [];
  const entries = all.filter(([name]) => name.length <= nameLengthMax);
  const required = listOf(own(schema, 'required')).filter((name) => typeof name === 'string');
  spend(all.length + required.length + 1);
  const format = own(schema, 'format');
  return {
    types: new Set([...names].filter((name) => typeNames.has(name))),
    nullable: names.has('null') || own(schema, 'nullable') === true || own(schema, 'x-nullable') === true,
    format: typeof format === 'string' ? format : null,
    properties: new Map(entries),
    required: new Set(required),
    items: own(schema, 'items'),
  };
}

function allOf(parts: readonly Shape[], spend: Spend): Shape {
  const [only, another] = parts;
  if (only !== undefined && another === undefined) return only;
  for (const { required } of parts) spend(required.size);
  const typed = parts.filter(({ types }) => types.size > 0);
  return {
    types: new Set(typed.flatMap(({ types }) => [...types])),
    nullable: parts.some(({ nullable }) => nullable),
    format: parts.find(({ format }) => format !== null)?.format ?? null,
    properties: merged(parts, { word: 'allOf', spend }),
    required: new Set(parts.flatMap(({ required }) => [...required])),
    items: parts.find(({ items }) => items !== undefined)?.items,
  };
}

interface Choice {
  readonly all: readonly unknown[];
  readonly spend: Spend;
}

/** A value that fits one of the branches; a `null` among them makes it nullable. */
function oneOf(branches: readonly Shape[], { all, spend }: Choice): Shape {
  for (const { required } of branches) spend(required.size);
  const isOpen = branches.some(({ types }) => types.size === 0);
  const formats = new Set(branches.map(({ format }) => format));
  const [first = anything, ...others] = branches;
  return {
    types: isOpen ? new Set() : new Set(branches.flatMap(({ types }) => [...types])),
    nullable: branches.length < all.length || branches.some(({ nullable }) => nullable),
    format: formats.size === 1 ? first.format : null,
    properties: merged(branches, { word: 'anyOf', spend }),
    required: new Set([...first.required].filter((name) => others.every(({ required }) => required.has(name)))),
    items: branches.find(({ items }) => items !== undefined)?.items,
  };
}

interface Merge {
  readonly word: 'allOf' | 'anyOf';
  readonly spend: Spend;
}

/** A property that several parts describe in different ways becomes a composition of them. */
function merged(parts: readonly Shape[], { word, spend }: Merge): ReadonlyMap<string, unknown> {
  const [only, ...more] = parts.filter(({ properties }) => properties.size > 0);
  if (only === undefined || more.length === 0) return only?.properties ?? new Map();
  const found = new Map<string, Set<unknown>>();
  for (const { properties } of [only, ...more]) {
    spend(properties.size);
    for (const [name, schema] of properties) found.set(name, (found.get(name) ?? new Set()).add(schema));
  }
  return new Map(
    [...found].map(([name, schemas]) => [name, schemas.size === 1 ? [...schemas][0] : { [word]: [...schemas] }]),
  );
}

function typesOf(schema: JsonObject): ReadonlySet<string> {
  const type = own(schema, 'type');
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((name) => typeof name === 'string'));
  if (isJsonObject(own(schema, 'properties'))) return new Set(['object']);
  if (own(schema, 'items') !== undefined) return new Set(['array']);
  const values = Object.hasOwn(schema, 'const') ? [schema['const']] : listOf(own(schema, 'enum'));
  return new Set(values.slice(0, enumValuesMax).map(typeName));
}

/** Values of an `enum` without `type` from which its types are taken. */
const enumValuesMax = 100;

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isSafeInteger(value) ? 'integer' : typeof value;
}
