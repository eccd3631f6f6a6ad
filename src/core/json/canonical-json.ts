import { byNames } from '../work/by-names.ts';
import { isJsonObject } from './is-json-object.ts';

/** Properties to omit: a name maps to `true` (all of it) or to the names below it. */
export interface IgnoredPaths extends ReadonlyMap<string, true | IgnoredPaths> {}

/**
 * RFC 8785 canonical JSON: names in UTF-16 order, numbers and strings as ECMAScript writes them, no white space. Equal
 * values have equal text in any property order; `1.0` and `1e0` are `1`. Omits properties under `ignored`, in every
 * element when an array is on the way; values must be within the depth of the record gate. As in `JSON.stringify`, what
 * JSON cannot carry is null in an array and omitted from an object.
 */
export function canonicalJson(value: unknown, ignored?: IgnoredPaths): string {
  const walk: Walk = { keepsOrder: true };
  const copy = sorted(value, ignored, walk);
  return (walk.keepsOrder ? JSON.stringify(copy) : textOf(copy)) ?? 'null';
}

interface Walk {
  keepsOrder: boolean;
}

/** A copy with properties added in order: `JSON.stringify` writes it in two thirds of the time of `textOf`. */
function sorted(value: unknown, ignored: IgnoredPaths | undefined, walk: Walk): unknown {
  if (Array.isArray(value)) return value.map((item) => sorted(item, ignored, walk));
  if (!isJsonObject(value)) return value;
  const { ordered, keepsOrder } = namesOf(value);
  if (!keepsOrder) walk.keepsOrder = false;
  const result: Record<string, unknown> = {};
  for (const key of ordered) {
    const below = ignored?.get(key);
    if (below === true) continue;
    const child = sorted(value[key], below, walk);
    if (key === '__proto__') Object.defineProperty(result, key, { value: child, enumerable: true });
    else result[key] = child;
  }
  return result;
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return `[${value.map((item) => textOf(item) ?? 'null').join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const properties = inOrder(Object.keys(value)).flatMap((name) => {
    const text = textOf(value[name]);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${properties.join()}}`;
}

export const inOrder = (names: readonly string[]): readonly string[] => names.toSorted();

/** JavaScript puts names that are indexes first, in numeric order. */
const indexName = /^(?:0|[1-9]\d{0,9})$/;

const namesOf = byNames((names) => ({
  ordered: inOrder(names),
  keepsOrder: !names.some((name) => indexName.test(name)),
}));
