import { isJsonObject } from '../json/is-json-object.ts';
import type { StoredFields } from '../spec/connection/stored-fields.ts';

/** Returns a function that picks the fields of a raw record for child resources, or `null` if none are stored. */
export function createFieldPicker(
  stored: StoredFields | null,
): (raw: unknown) => Readonly<Record<string, unknown>> | null {
  if (stored === null) return () => null;
  if (stored === 'all') return (raw) => (isJsonObject(raw) ? raw : {});
  return (raw) => {
    if (!isJsonObject(raw)) return {};
    return Object.fromEntries(stored.flatMap((name) => (Object.hasOwn(raw, name) ? [[name, raw[name]]] : [])));
  };
}
