import { isJsonObject } from '../../json/is-json-object.ts';
import type { ColumnType } from '../../spec/schema/column-type.ts';
import { parseColumnType } from '../../spec/schema/column-type.ts';

/** `null` when the schema leaves the type open. */
export function columnTypeOf(schema: unknown): { readonly type: ColumnType; readonly nullable: boolean } | null {
  if (!isJsonObject(schema)) return null;
  const names = typeNames(schema);
  const nullable = names.delete('null');
  const custom = schema['x-type'];
  const type = (typeof custom === 'string' ? parseColumnType(custom) : null) ?? typeFor(names, schema);
  return type && { type, nullable };
}

/** The type that holds every value of a new field; `null` when all values are null. */
export function inferredType(values: readonly unknown[]): ColumnType | null {
  const names = new Set<string>();
  for (const value of values) if (value !== null && value !== undefined) names.add(nameOf(value));
  return typeFor(names, {});
}

function typeNames(schema: Readonly<Record<string, unknown>>): Set<string> {
  const { type, enum: options, anyOf, oneOf } = schema;
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((name) => typeof name === 'string'));
  if (Array.isArray(options)) return new Set(options.map(nameOf));
  if ('const' in schema) return new Set([nameOf(schema['const'])]);
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  return new Set(branches.filter(isJsonObject).flatMap((branch) => [...typeNames(branch)]));
}

/** The narrowest type that loses nothing: mixed scalars become text, and anything with an object becomes json. */
function typeFor(names: ReadonlySet<string>, schema: Readonly<Record<string, unknown>>): ColumnType | null {
  if (names.size === 0) return null;
  if (names.has('object') || names.has('array')) return { kind: 'json' };
  const only = (...allowed: readonly string[]) => [...names].every((name) => allowed.includes(name));
  if (only('integer')) return { kind: 'bigint' };
  if (only('integer', 'number')) return { kind: 'float' };
  if (only('boolean')) return { kind: 'boolean' };
  return only('string') ? stringType(schema) : { kind: 'text' };
}

function stringType({ format, maxLength }: Readonly<Record<string, unknown>>): ColumnType {
  if (format === 'date-time') return { kind: 'timestamptz' };
  if (format === 'date' || format === 'uuid') return { kind: format };
  return typeof maxLength === 'number' ? { kind: 'text', maxLength } : { kind: 'text' };
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isSafeInteger(value) ? 'integer' : typeof value;
}
