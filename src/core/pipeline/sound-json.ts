import { byNames } from '../by-names.ts';
import { isObject } from '../source/dotted-path.ts';
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

function sorted(value: unknown, walk: Walk, depthLeft: number): unknown {
  walk.nodesLeft -= 1;
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : unsound(walk);
  if (depthLeft === 0 || walk.nodesLeft < 0) return unsound(walk);
  if (Array.isArray(value)) return value.map((item) => sorted(item, walk, depthLeft - 1));
  const keys = isObject(value) ? allowedInOrder(Object.keys(value)) : null;
  if (!isObject(value) || keys === null) return unsound(walk);
  const result: Record<string, unknown> = {};
  for (const key of keys) result[key] = sorted(value[key], walk, depthLeft - 1);
  return result;
}

/** Null: a name that no record may have is among them. */
const allowedInOrder = byNames((names) => (names.some((name) => forbiddenKeys.has(name)) ? null : inOrder(names)));

function unsound(walk: Walk): null {
  walk.isSound = false;
  return null;
}
