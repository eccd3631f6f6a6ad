import { blankObject } from '../blank-object.ts';
import { byNames } from '../by-names.ts';
import { inOrder } from './canonical-json.ts';
import { forbiddenKeys, recordLimits } from './record-gate.ts';

/**
 * Canonical JSON of a record that passes the gate, in one walk for both; null for one that does not, or only perhaps, which
 * `findDefect` decides. Takes any depth.
 */
export function soundJson(record: unknown): string | null {
  const walk: Walk = { nodesLeft: recordLimits.nodesMax, isSound: true };
  const text = JSON.stringify(sorted(record, walk, recordLimits.depthMax));
  // NUL and halves of surrogate pairs are escapes here, as few other characters are.
  return walk.isSound && walk.nodesLeft >= 0 && !text.includes('\\u') ? text : null;
}

interface Walk {
  nodesLeft: number;
  isSound: boolean;
}

/** Written without closures and lists of names: a record has two dozen values, and what they cost is what a scan costs. */
function sorted(value: unknown, walk: Walk, depthLeft: number): unknown {
  walk.nodesLeft -= 1;
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : unsound(walk);
  if (typeof value !== 'object' || depthLeft === 0 || walk.nodesLeft < 0) return unsound(walk);
  return Array.isArray(value) ? sortedItems(value, walk, depthLeft - 1) : sortedProperties(value, walk, depthLeft - 1);
}

function sortedItems(items: readonly unknown[], walk: Walk, depthLeft: number): readonly unknown[] {
  const result: unknown[] = items.slice();
  for (let index = 0; index < items.length; index += 1) result[index] = sorted(items[index], walk, depthLeft);
  return result;
}

function sortedProperties(object: object, walk: Walk, depthLeft: number): unknown {
  const form = formOf(object);
  if (form === null) return unsound(walk);
  const values = object as Readonly<Record<string, unknown>>;
  if (form.isKnown) form.blank ??= blankObject(form.names);
  form.isKnown = true;
  const result: Record<string, unknown> = { ...form.blank };
  if (form.blank === null) for (const name of form.names) result[name] = sorted(values[name], walk, depthLeft);
  else for (const name in values) result[name] = sorted(values[name], walk, depthLeft);
  return result;
}

/** Of the objects with the same names. */
interface Form {
  /** In order. */
  readonly names: readonly string[];
  /** There was one before: a blank will be of use. */
  isKnown: boolean;
  /** With the names in order, so that a copy may be filled in any. */
  blank: Readonly<Record<string, null>> | null;
}

/** Null: a name that no record may have is among them. */
const formOf = byNames((names): Form | null =>
  names.some((name) => forbiddenKeys.has(name)) ? null : { names: inOrder(names), isKnown: false, blank: null },
);

function unsound(walk: Walk): null {
  walk.isSound = false;
  return null;
}
