import { byNames } from '../by-names.ts';
import { isObject } from './dotted-path.ts';

/** Which properties to leave out: a name maps to true (all of it) or to the names below it. */
export interface IgnoredPaths extends ReadonlyMap<string, true | IgnoredPaths> {}

/**
 * JSON text that is equal for equal values in any order of their properties; numbers in JavaScript's shortest form
 * (`1.0` and `1e0` are `1`). Properties under `ignored` are left out, in every element when an array is on the way. For
 * values within the record gate's depth.
 */
export function canonicalJson(value: unknown, ignored?: IgnoredPaths): string {
  return JSON.stringify(sorted(value, ignored)) ?? 'null';
}

function sorted(value: unknown, ignored: IgnoredPaths | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => sorted(item, ignored));
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const key of namesInOrder(value)) {
    const below = ignored?.get(key);
    if (below === true) continue;
    const child = sorted(value[key], below);
    if (key === '__proto__') Object.defineProperty(result, key, { value: child, enumerable: true });
    else result[key] = child;
  }
  return result;
}

/** Names in the order of their UTF-16 units. */
export const inOrder = (names: readonly string[]): readonly string[] => names.toSorted();

const namesInOrder = byNames(inOrder);
