import { byNames } from '../../work/by-names.ts';

const reservedNames: ReadonlySet<string> = new Set([
  ...['_jsonata_lambda', '_jsonata_function', 'outerWrapper', 'tupleStream'],
  ...['__proto__'],
]);

export const isReservedName = (name: string): boolean => reservedNames.has(name);

export type Plainness =
  /** Exactly what a JSON parser returns. */
  | 'plain'
  /** JSON text differs, as for `undefined`, -0, infinity or a date. */
  | 'not_plain'
  /** A reserved name, or too large or deep to walk here. */
  | 'odd';

/** Deeper values would overflow the stack of recursive steps. */
const depthMax = 100;

export function plainnessOf(value: unknown, { nodesMax }: { readonly nodesMax: number }): Plainness {
  const walk = { nodesLeft: nodesMax, isPlain: true };
  if (!isUsable(value, walk, depthMax)) return 'odd';
  return walk.isPlain ? 'plain' : 'not_plain';
}

interface Walk {
  nodesLeft: number;
  isPlain: boolean;
}

function isUsable(value: unknown, walk: Walk, depthLeft: number): boolean {
  walk.nodesLeft -= 1;
  if (typeof value !== 'object' || value === null) {
    if (!isPlainScalar(value)) walk.isPlain = false;
    return true;
  }
  if (depthLeft === 0 || walk.nodesLeft < 0) return false;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      if (!isUsable(value[index], walk, depthLeft - 1)) return false;
    }
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) walk.isPlain = false;
  return hasUsableProperties(value, walk, depthLeft - 1);
}

/** A plain mapping spends a fifth of its time here. */
function hasUsableProperties(value: object, walk: Walk, depthLeft: number): boolean {
  if (!areUsable(value)) return false;
  for (const name in value) {
    if (!isUsable((value as Readonly<Record<string, unknown>>)[name], walk, depthLeft)) return false;
  }
  return true;
}

const areUsable = byNames((names) => !names.some((name) => reservedNames.has(name)));

function isPlainScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value === 'string' || typeof value === 'boolean' || value === null;
}
