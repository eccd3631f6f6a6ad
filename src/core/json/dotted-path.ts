import { isJsonObject } from './is-json-object.ts';

/** The value at a dotted path such as `data.items` or `rows.0.id`; undefined when any step is missing. Own keys only. */
export const valueAt = (root: unknown, path: string): unknown => ownValue(root, path, () => path.split('.'));

/** The same for a path whose names are known. */
export const valueAtNames = (root: unknown, path: string, names: readonly string[]): unknown =>
  ownValue(root, path, () => names);

function ownValue(root: unknown, path: string, names: () => readonly string[]): unknown {
  // A field that itself contains dots ("user.id" as a key) wins over the path.
  if (isJsonObject(root) && Object.hasOwn(root, path)) return root[path];
  let value = root;
  for (const key of names()) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}

/** A copy of `root` with `value` at the dotted path; objects on the way are made where missing. */
export function withValueAt(root: unknown, path: string, value: unknown): Readonly<Record<string, unknown>> {
  const [key = '', ...rest] = path.split('.');
  const base = isJsonObject(root) ? root : {};
  return { ...base, [key]: rest.length === 0 ? value : withValueAt(base[key], rest.join('.'), value) };
}
