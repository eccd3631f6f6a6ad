import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';

type FieldNames = 'all' | readonly string[];

/** Fields that texts read of each partition value, by its name; `all`: any field of any value. */
export type EachFields = 'all' | ReadonlyMap<string, FieldNames>;

export function eachFieldsIn(texts: readonly string[]): EachFields {
  const found = new Map<string, FieldNames>();
  for (const text of texts) {
    for (const [, name, field] of text.matchAll(eachPath)) {
      if (name === undefined) return 'all';
      const before = found.get(name) ?? [];
      found.set(name, field === undefined || before === 'all' ? 'all' : [...new Set([...before, field])]);
    }
  }
  return found;
}

/** Matches `each.issue.number`: name of the value and field, if written as plain names. */
const eachPath = /\beach\b(?:\s*\.\s*([A-Za-z_]\w*)(?:\s*\.\s*([A-Za-z_]\w*))?)?/g;

/** The part of the partition values that is read, with `null` for absent ones. */
export function pickEach(fields: EachFields, each: JsonObject): JsonObject {
  if (fields === 'all') return each;
  return Object.fromEntries([...fields].map(([name, names]) => [name, pick(names, each[name])]));
}

function pick(names: FieldNames, value: unknown): unknown {
  if (names === 'all' || !isJsonObject(value)) return value ?? null;
  return Object.fromEntries(names.map((name) => [name, value[name] ?? null]));
}
