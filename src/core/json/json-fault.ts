import { byNames } from '../by-names.ts';
import { jsonLimits, prototypeNames } from './json-limits.ts';

/** Why a value cannot pass, and where. Each caller has its own words for it. */
export type JsonFault = Place & (NameFault | TextFault | ValueFault);

interface Place {
  /** Names and indexes from the root to the value. */
  readonly path: readonly string[];
  readonly value: unknown;
}

/** A property of the value has a name that reaches a prototype. */
interface NameFault {
  readonly kind: 'reserved';
  readonly name: string;
}

/** A text is longer than `textLengthMax`, or has NUL or half of a surrogate pair. */
interface TextFault {
  readonly kind: 'long' | 'nul' | 'surrogate';
  /** The name of a property of the value; null: the value itself is the text. */
  readonly name: string | null;
}

/** `deep`, `large`: beyond `depthMax` or `nodesMax`. `number`: not finite. `type`: not JSON. */
interface ValueFault {
  readonly kind: 'deep' | 'large' | 'number' | 'type';
  readonly name: null;
}

/**
 * The first fault of a value of any depth and size, in document order; null: it is JSON within `jsonLimits`. Never
 * throws, not even for a value that contains itself.
 */
export function findJsonFault(
  root: unknown,
  { textLengthMax = Number.POSITIVE_INFINITY }: { readonly textLengthMax?: number } = {},
): JsonFault | null {
  const fault = faultIn(root, { nodesLeft: jsonLimits.nodesMax, textLengthMax }, jsonLimits.depthMax);
  return fault && { ...fault, path: fault.path.toReversed() };
}

interface Walk {
  nodesLeft: number;
  readonly textLengthMax: number;
}

/** The path begins with the innermost name: it is made on the way back, so that a sound value costs none. */
type Found = JsonFault & { readonly path: string[] };

function faultIn(value: unknown, walk: Walk, depthLeft: number): Found | null {
  walk.nodesLeft -= 1;
  if (walk.nodesLeft < 0) return { kind: 'large', name: null, path: [], value };
  if (typeof value === 'object' && value !== null) {
    if (depthLeft === 0) return { kind: 'deep', name: null, path: [], value };
    return Array.isArray(value) ? faultInItems(value, walk, depthLeft) : faultInProperties(value, walk, depthLeft);
  }
  const kind = typeof value === 'string' ? textFault(value, walk.textLengthMax) : scalarFault(value);
  return kind && { kind, name: null, path: [], value };
}

function faultInItems(items: readonly unknown[], walk: Walk, depthLeft: number): Found | null {
  for (let index = 0; index < items.length; index += 1) {
    const fault = faultIn(items[index], walk, depthLeft - 1);
    if (fault !== null) return below(fault, String(index));
  }
  return null;
}

function faultInProperties(object: object, walk: Walk, depthLeft: number): Found | null {
  const { fault, longest } = namesOf(object);
  if (fault !== null) return { ...fault, path: [], value: object };
  if (longest.length > walk.textLengthMax) return { kind: 'long', name: longest, path: [], value: object };
  for (const name in object) {
    const inside = faultIn((object as Readonly<Record<string, unknown>>)[name], walk, depthLeft - 1);
    if (inside !== null) return below(inside, name);
  }
  return null;
}

function below(fault: Found, name: string): Found {
  fault.path.push(name);
  return fault;
}

function textFault(text: string, lengthMax = Number.POSITIVE_INFINITY): TextFault['kind'] | null {
  if (text.length > lengthMax) return 'long';
  if (text.includes('\0')) return 'nul';
  return text.isWellFormed() ? null : 'surrogate';
}

function scalarFault(value: unknown): ValueFault['kind'] | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'number';
  return typeof value === 'boolean' || value === null ? null : 'type';
}

/** The first name at fault, whatever its length, and the longest name. */
const namesOf = byNames((names) => ({
  fault: names.map(nameFault).find((fault) => fault !== null) ?? null,
  longest: names.reduce((longer, name) => (name.length > longer.length ? name : longer), ''),
}));

function nameFault(name: string): NameFault | (TextFault & { readonly name: string }) | null {
  if (prototypeNames.has(name)) return { kind: 'reserved', name };
  const kind = textFault(name);
  return kind && { kind, name };
}
