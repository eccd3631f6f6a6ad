import { stringify } from 'yaml';
import { connectorSpecSchema } from '../../core/spec/reference/json-schema.ts';

let places: ReadonlyMap<string, number> | undefined;
/** In the order of the spec's schema, which is the order in which people read a spec. */
const placesInSchema = (): ReadonlyMap<string, number> =>
  (places ??= new Map([...new Set(namesIn(connectorSpecSchema()))].map((name, index) => [name, index])));

/** The database keeps no order of fields, so the schema gives it. */
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

/** In order of declaration, those of one object first. */
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
