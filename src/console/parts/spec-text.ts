import { stringify } from 'yaml';
import { connectorSpecSchema } from '../../core/spec/reference/json-schema.ts';

let places: ReadonlyMap<string, number> | undefined;
/** The place of each field name where the schema of a spec first has it: the order in which people read a spec. */
const placesInSchema = (): ReadonlyMap<string, number> =>
  (places ??= new Map([...new Set(namesIn(connectorSpecSchema()))].map((name, index) => [name, index])));

/** A spec document as text that people read and change. The database keeps no order of fields: it is that of the schema. */
export const specText = (document: unknown): string =>
  stringify(inOrder(document), { lineWidth: 110, aliasDuplicateObjects: false });

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => placeOf(a) - placeOf(b));
  return Object.fromEntries(fields.map(([name, field]) => [name, inOrder(field)]));
}

function placeOf(name: string): number {
  const all = placesInSchema();
  return all.get(name) ?? all.size;
}

/** Every field name below a part of a JSON Schema, in the order of its declaration; the fields of one object first. */
function namesIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap(namesIn);
  const { properties = {}, ...rest }: { readonly properties?: object } = schema;
  return [
    ...Object.keys(properties),
    ...Object.values(properties).flatMap(namesIn),
    ...Object.values(rest).flatMap(namesIn),
  ];
}
