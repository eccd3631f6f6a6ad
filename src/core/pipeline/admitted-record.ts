import { digestOf } from '../crypto/digest.ts';
import { isReservedName } from '../expressions/compiled/plain-json.ts';
import { inOrder } from '../json/canonical-json.ts';
import { jsonLimits, prototypeNames, textIssue } from '../json/json-limits.ts';
import { byNames } from '../work/by-names.ts';

/** A record that passes the gate. */
export interface AdmittedRecord {
  /** Text for the fingerprint: equal for equal records in any order of their properties, and different for others. */
  readonly text: string;
  /** Expressions may take the record as it is. */
  readonly isPlain: boolean;
}

/**
 * One walk for the gate, the text for the fingerprint, and the check whether expressions may take the record as it is.
 * `null` if the record may not pass, or its text exceeds `charsMax`: `excessBytes` and `findIssue` then decide. Takes
 * any depth.
 *
 * The text is a JSON list of `salt` and the record. An object becomes a list of a digest of its names and its values in
 * the order of the names. A list becomes a pair of 0 and itself, which no object resembles. This is a quarter shorter
 * than canonical JSON, at no more cost than `JSON.stringify`.
 */
export function admittedRecord(
  record: unknown,
  salt: string,
  charsMax = Number.POSITIVE_INFINITY,
): AdmittedRecord | null {
  const walk: Walk = { nodesLeft: jsonLimits.nodesMax, isValid: true, isPlain: true };
  const text = JSON.stringify([salt, flat(record, walk, jsonLimits.depthMax)]);
  // JSON escapes NUL and halves of surrogate pairs as `\u`, and few other characters.
  if (!walk.isValid || walk.nodesLeft < 0 || text.length > charsMax || text.includes('\\u')) return null;
  return { text, isPlain: walk.isPlain };
}

interface Walk {
  nodesLeft: number;
  isValid: boolean;
  isPlain: boolean;
}

/** Without closures and lists of names: a record has two dozen values, and they set the cost of a scan. */
function flat(value: unknown, walk: Walk, depthLeft: number): unknown {
  walk.nodesLeft -= 1;
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return flatNumber(value, walk);
  if (typeof value !== 'object' || depthLeft === 0 || walk.nodesLeft < 0) return notValid(walk);
  return Array.isArray(value) ? flatItems(value, walk, depthLeft - 1) : flatValues(value, walk, depthLeft - 1);
}

function flatNumber(value: number, walk: Walk): number | null {
  // Its JSON text has no sign.
  if (Object.is(value, -0)) walk.isPlain = false;
  return Number.isFinite(value) ? value : notValid(walk);
}

function flatItems(items: readonly unknown[], walk: Walk, depthLeft: number): readonly unknown[] {
  const list: unknown[] = items.slice();
  for (let index = 0; index < items.length; index += 1) list[index] = flat(items[index], walk, depthLeft);
  return [0, list];
}

function flatValues(object: object, walk: Walk, depthLeft: number): unknown {
  const form = formOf(object);
  if (form === null) return notValid(walk);
  if (form.isReserved) walk.isPlain = false;
  const result: unknown[] = form.blank.slice();
  let position = 0;
  for (const name in object) {
    result[form.places[position] ?? 0] = flat((object as Readonly<Record<string, unknown>>)[name], walk, depthLeft);
    position += 1;
  }
  return result;
}

/** The text has only a digest of the names, so longer names are checked one by one. */
const nameCharsMax = 1000;

interface Form {
  /** The digest of the names, then `null` for each value. */
  readonly blank: readonly (string | null)[];
  readonly places: readonly number[];
  /** A name has a meaning in JSONata. */
  readonly isReserved: boolean;
}

/** `null` if a name is not allowed in records. */
const formOf = byNames((names): Form | null => {
  if (names.some((name) => name.length > nameCharsMax || prototypeNames.has(name) || textIssue(name) !== null))
    return null;
  const ordered = inOrder(names);
  const placeOf = new Map(ordered.map((name, index) => [name, index + 1]));
  return {
    blank: [digestOf(JSON.stringify(ordered)), ...ordered.map(() => null)],
    places: names.map((name) => placeOf.get(name) ?? 0),
    isReserved: names.some(isReservedName),
  };
});

function notValid(walk: Walk): null {
  walk.isValid = false;
  return null;
}
