import { isJsonObject } from '../../../json/is-json-object.ts';

export interface Definition {
  readonly schema: Readonly<Record<string, unknown>>;
  /** Whether every object on the way requires it, and no choice is on the way. */
  readonly required: boolean;
}

const depthMax = 12;

/** The values of a connection specification by path; objects with known fields are not values themselves. */
export function readDefinitions(specification: unknown): ReadonlyMap<string, Definition> {
  const found = new Map<string, Definition>();
  if (isJsonObject(specification)) collect(specification, { path: [], required: true, depth: 0, found });
  return found;
}

export const pathKey = (path: readonly string[]): string => JSON.stringify(path);

interface Walk {
  readonly path: readonly string[];
  readonly required: boolean;
  readonly depth: number;
  readonly found: Map<string, Definition>;
}

function collect(schema: Readonly<Record<string, unknown>>, walk: Walk): void {
  if (walk.depth > depthMax || walk.found.size > 2_000) return;
  const { properties } = schema;
  const requiredKeys = Array.isArray(schema['required']) ? schema['required'] : [];
  for (const [key, value] of isJsonObject(properties) ? Object.entries(properties) : []) {
    if (!isJsonObject(value)) continue;
    const inner = {
      ...walk,
      path: [...walk.path, key],
      required: walk.required && requiredKeys.includes(key),
      depth: walk.depth + 1,
    };
    if (hasFields(value)) collect(value, inner);
    else add(inner, value);
  }
  for (const choice of choicesOf(schema)) collect(choice, { ...walk, required: false, depth: walk.depth + 1 });
}

/** Two choices with a value of the same name allow the values of both. */
function add({ path, required, found }: Walk, schema: Readonly<Record<string, unknown>>): void {
  const key = pathKey(path);
  const before = found.get(key);
  if (before === undefined) found.set(key, { schema, required });
  else found.set(key, { schema: merged(before.schema, schema), required: before.required && required });
}

function merged(
  first: Readonly<Record<string, unknown>>,
  second: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { const: _, enum: __, default: ___, ...rest } = first;
  const allowed = [allowedBy(first), allowedBy(second)];
  const secret = first['airbyte_secret'] === true || second['airbyte_secret'] === true ? { airbyte_secret: true } : {};
  const [a, b] = allowed;
  return { ...rest, ...secret, ...(a && b ? { enum: [...new Set([...a, ...b])] } : {}) };
}

const allowedBy = (schema: Readonly<Record<string, unknown>>): readonly unknown[] | null =>
  schema['const'] !== undefined ? [schema['const']] : Array.isArray(schema['enum']) ? schema['enum'] : null;

const hasFields = (schema: Readonly<Record<string, unknown>>): boolean =>
  isJsonObject(schema['properties']) ? Object.keys(schema['properties']).length > 0 : choicesOf(schema).some(hasFields);

const choicesOf = (schema: Readonly<Record<string, unknown>>): readonly Record<string, unknown>[] =>
  ['oneOf', 'anyOf', 'allOf'].flatMap((key) => {
    const list = schema[key];
    return Array.isArray(list) ? list.filter(isJsonObject) : [];
  });
