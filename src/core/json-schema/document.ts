import { AppError } from '../errors.ts';
import { isJsonObject } from '../json/is-json-object.ts';
import { findIssue } from '../json/record-gate.ts';

export interface PreparedSchema {
  readonly schema: Schema;
  /** Most work for one value: the subschemas that can apply to it, references followed, and the long lists in each. */
  readonly cost: number;
  /** Whether it contains a name or text that every object inherits, such as `toString`. */
  readonly namesInherited: boolean;
}

export type Schema = boolean | { readonly [keyword: string]: unknown };

/** `lengthMax` counts characters of JSON, `weightMax` subschemas once every reference is followed. */
const limits = { lengthMax: 262_144, weightMax: 5_000 } as const;

/**
 * Makes a customer's schema safe to run in our own process: removes `x-` keywords and identifiers, refuses references
 * that leave the schema or form a cycle. A validation then costs at most the schema's cost times the record's values.
 * With `bigIntegers` an integer may also be a decimal string beyond 2^53, as the decoder gives it. Throws `AppError`
 * `spec_invalid`.
 */
export function prepareSchema(document: unknown, options: { readonly bigIntegers: boolean }): PreparedSchema {
  const issue = findIssue(document);
  if (issue !== null) throw refuse(`it ${issue}`);
  const { length } = JSON.stringify(document) ?? '';
  if (length > limits.lengthMax) throw refuse(`it is longer than ${limits.lengthMax} characters`);
  const schema = rewrite(document, options);
  return { schema, cost: costOf(schema), namesInherited: namesInherited(schema) };
}

/** Checks every text under any keyword; a false positive only costs records some time. */
function namesInherited(value: unknown): boolean {
  if (typeof value === 'string') return value in Object.prototype;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, child]) => name in Object.prototype || namesInherited(child));
}

const holders = {
  one: [
    'additionalItems',
    'additionalProperties',
    'contains',
    'else',
    'if',
    'items',
    'not',
    'propertyNames',
    'then',
    'unevaluatedItems',
    'unevaluatedProperties',
  ],
  list: ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'],
  byName: ['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'],
} as const;

const isOne = new Set<string>(holders.one);
const isList = new Set<string>(holders.list);
const isByName = new Set<string>(holders.byName);

/** An identifier would let two orgs' schemas meet in one compiler; the refused keywords need a scope known only later. */
const dropped = new Set(['$schema', '$id', 'id', '$anchor', '$vocabulary', '$comment']);
const refused = new Set(['$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', '$data']);

function rewrite(document: unknown, options: { readonly bigIntegers: boolean }): Schema {
  if (typeof document === 'boolean') return document;
  if (!isJsonObject(document)) throw refuse('each schema in it must be an object, true or false');
  const entries: [string, unknown][] = [];
  for (const [keyword, value] of Object.entries(document)) {
    if (refused.has(keyword)) throw refuse(`it uses ${keyword}; use $ref into $defs instead`);
    if (dropped.has(keyword) || keyword.startsWith('x-')) continue;
    entries.push([keyword, mapSubschemas(keyword, value, (child) => rewrite(child, options))]);
  }
  const schema = Object.fromEntries(entries);
  return options.bigIntegers ? withBigIntegers(schema) : schema;
}

function mapSubschemas(keyword: string, value: unknown, change: (child: unknown) => unknown): unknown {
  if (isList.has(keyword) && Array.isArray(value)) return value.map(change);
  if (isByName.has(keyword) && isJsonObject(value)) {
    // An array here is a list of required names (`dependencies` of older drafts).
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [name, Array.isArray(child) ? child : change(child)]),
    );
  }
  return isOne.has(keyword) ? change(value) : value;
}

function withBigIntegers(schema: Readonly<Record<string, unknown>>): Schema {
  const { type } = schema;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (types.includes('string') || !(types.includes('integer') || types.includes('number'))) return schema;
  return { ...schema, type: [...types, 'string'], bigInteger: true };
}

function costOf(root: Schema): number {
  weigh(root, { own: () => 1, max: limits.weightMax });
  return weigh(root, { own: ownCost, max: Infinity });
}

/** Measured work of a schema without its subschemas: 1 is that of a simple keyword, some 60 ns. */
function ownCost(schema: Schema): number {
  if (typeof schema === 'boolean') return 1;
  const names = [schema['required'], ...valuesOf(schema['dependencies']), ...valuesOf(schema['dependentRequired'])];
  let cost = 1;
  for (const list of names) cost += lengthOf(list);
  // Failing choices create an error each.
  cost += lengthOf(schema['enum']) / 8 + lengthOf(schema['allOf']) / 2;
  cost += 1.5 * (lengthOf(schema['anyOf']) + lengthOf(schema['oneOf']));
  return schema['uniqueItems'] === true ? cost + 10 : cost;
}

const valuesOf = (value: unknown): readonly unknown[] => (isJsonObject(value) ? Object.values(value) : []);

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

function weigh(root: Schema, { own, max }: { readonly own: (schema: Schema) => number; readonly max: number }): number {
  const weights = new Map<Schema, number>();
  const open = new Set<Schema>();
  const weightOf = (schema: Schema): number => {
    const known = weights.get(schema);
    if (known !== undefined) return known;
    if (open.has(schema)) throw refuse('a $ref refers to itself; write out the levels that records have');
    open.add(schema);
    let weight = own(schema);
    for (const child of childrenOf(schema, root)) weight += weightOf(child);
    if (weight > max) throw refuse(`it expands to more than ${limits.weightMax} schemas`);
    open.delete(schema);
    if (typeof schema === 'object') weights.set(schema, weight);
    return weight;
  };
  return weightOf(root);
}

function childrenOf(schema: Schema, root: Schema): readonly Schema[] {
  if (typeof schema === 'boolean') return [];
  const children: Schema[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === '$ref') children.push(resolveReference(value, root));
    mapSubschemas(keyword, value, (child) => {
      if (typeof child === 'boolean' || isJsonObject(child)) children.push(child);
    });
  }
  return children.filter((child) => typeof child === 'object');
}

/** Throws `spec_invalid` for a `$ref` that points to no schema. */
export function resolveReference(reference: unknown, root: Schema): Schema {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) {
    throw refuse('a $ref must point into the same schema, as in "#/$defs/address"');
  }
  let target: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    const name = unescapeStep(step);
    const holder: unknown = target;
    target =
      typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name)
        ? Reflect.get(holder, name)
        : undefined;
  }
  if (typeof target === 'boolean' || isJsonObject(target)) return target;
  throw refuse(`the $ref ${JSON.stringify(reference.slice(0, 100))} points to nothing`);
}

function unescapeStep(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch (cause) {
    throw refuse('a $ref is not well-formed percent-encoding', cause);
  }
}

function refuse(reason: string, cause?: unknown): AppError {
  return new AppError('spec_invalid', `The schema of validate cannot be used: ${reason}.`, { cause });
}
