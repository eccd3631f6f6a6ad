import { isJsonObject } from './is-json-object.ts';

/** The value at a dotted path such as `data.items` or `rows.0.id`, by own keys only. */
export const valueAt = (root: unknown, path: string): unknown => ownValue(root, path, () => path.split('.'));

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

/** Creates missing objects on the way. */
export function withValueAt(root: unknown, path: string, value: unknown): Readonly<Record<string, unknown>> {
  const [key = '', ...rest] = path.split('.');
  const base = isJsonObject(root) ? root : {};
  return { ...base, [key]: rest.length === 0 ? value : withValueAt(base[key], rest.join('.'), value) };
}
