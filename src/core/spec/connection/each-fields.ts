import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';

/** Names of fields; `all`: any of them may be read. */
type FieldNames = 'all' | readonly string[];

/** The fields that texts read of each value of a partition, by its name; `all`: of any value any field. */
export type EachFields = 'all' | ReadonlyMap<string, FieldNames>;

/** What some texts read of the values of a partition. */
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

/** `each.issue.number`: the name of the value and the field, each where it is written as a plain name. */
const eachPath = /\beach\b(?:\s*\.\s*([A-Za-z_]\w*)(?:\s*\.\s*([A-Za-z_]\w*))?)?/g;

/** That of the values of a partition which is read; null where there is none. */
export function pickEach(fields: EachFields, each: JsonObject): JsonObject {
  if (fields === 'all') return each;
  return Object.fromEntries([...fields].map(([name, names]) => [name, pick(names, each[name])]));
}

function pick(names: FieldNames, value: unknown): unknown {
  if (names === 'all' || !isJsonObject(value)) return value ?? null;
  return Object.fromEntries(names.map((name) => [name, value[name] ?? null]));
}
