import { isJsonObject } from '../../../json/is-json-object.ts';

/** Most properties read of one schema; larger ones are left out. */
const propertiesMax = 3_000;
const depthMax = 12;

const scalars: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);

/**
 * The types to which the CDK casts scalars: only properties of one type. `null` if the schema names none, or is too
 * large.
 */
export function typesOfSchema(schema: unknown): Readonly<Record<string, unknown>> | null {
  let left = propertiesMax;

  function types(node: unknown, depth: number): Readonly<Record<string, unknown>> | null {
    left -= 1;
    if (!isJsonObject(node) || depth > depthMax || left < 0) return null;
    const only = typeOf(node['type']);
    if (scalars.has(only)) return { type: [only, 'null'] };
    const properties = isJsonObject(node['properties']) ? propertiesOf(node['properties'], depth) : null;
    if (properties !== null) return { properties };
    const items = types(node['items'], depth + 1);
    return items === null ? null : { items };
  }

  function propertiesOf(
    properties: Readonly<Record<string, unknown>>,
    depth: number,
  ): Readonly<Record<string, unknown>> | null {
    const found = Object.entries(properties).flatMap(([key, value]) => {
      const type = types(value, depth + 1);
      return type === null ? [] : [[key, type] as const];
    });
    return found.length === 0 ? null : Object.fromEntries(found);
  }

  const found = types(schema, 0);
  return left < 0 || found === null ? null : found;
}

function typeOf(type: unknown): unknown {
  const names = (Array.isArray(type) ? type : [type]).filter((name) => name !== 'null');
  return names.length === 1 ? names[0] : undefined;
}
