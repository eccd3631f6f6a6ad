import { createHash } from 'node:crypto';
import { valueAt } from '../json/dotted-path.ts';

/** UTF-8 bytes of the longest key stored as it is (an index entry must fit). */
const externalIdBytesMax = 512;

/** The text form of a record's primary key, or the reason why it has none. */
export type ExternalId =
  | { readonly ok: true; readonly externalId: string }
  | { readonly ok: false; readonly path: string; readonly message: string };

/**
 * The primary key of a record as bounded text: one value as it is, several as a JSON array. Keys may be 0, false or the
 * empty string, but not missing, null, objects or arrays.
 */
export function externalIdOf(record: unknown, primaryKey: string | readonly string[]): ExternalId {
  if (typeof primaryKey === 'string') {
    const key = valueAt(record, primaryKey);
    return isKey(key) ? { ok: true, externalId: boundedKey(String(key)) } : notKey(primaryKey, key);
  }
  const parts: (string | number | boolean)[] = [];
  for (const path of primaryKey) {
    const part = valueAt(record, path);
    if (!isKey(part)) return notKey(path, part);
    parts.push(part);
  }
  return { ok: true, externalId: boundedKey(parts.length === 1 ? String(parts[0]) : JSON.stringify(parts)) };
}

/**
 * Possible record ids for a key from another list, which may write numbers and booleans as text, or the other way
 * round. A key of several fields is a list; `null` if the value does not have `fields` fields.
 */
export function possibleIds(key: unknown, fields: number): readonly string[] | null {
  const parts: readonly unknown[] = Array.isArray(key) ? key : [key];
  if (parts.length !== fields || !parts.every(isKey)) return null;
  if (parts.length === 1) return [boundedKey(String(parts[0]))];
  return formsOfAll(parts).map((form) => boundedKey(JSON.stringify(form)));
}

/** Fields that may mix both forms independently; with more, all fields have the same form. */
const mixedMax = 4;

function formsOfAll(parts: readonly (string | number | boolean)[]): readonly (readonly unknown[])[] {
  const forms = parts.map(formsOf);
  if (forms.filter(({ length }) => length > 1).length <= mixedMax)
    return forms.reduce<readonly (readonly unknown[])[]>(
      (lists, of) => lists.flatMap((list) => of.map((form) => [...list, form])),
      [[]],
    );
  return [
    parts,
    parts.map((part) => (typeof part === 'string' ? (formsOf(part)[1] ?? part) : part)),
    parts.map(String),
  ];
}

function formsOf(part: string | number | boolean): readonly (string | number | boolean)[] {
  if (typeof part !== 'string') return [part, String(part)];
  if (part === 'true' || part === 'false') return [part, part === 'true'];
  return String(Number(part)) === part ? [part, Number(part)] : [part];
}

const isKey = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

function notKey(path: string, value: unknown): ExternalId {
  const found = value === undefined || value === null ? 'missing or null' : 'not a single value';
  return { ok: false, path, message: `primary key field "${path}" is ${found}` };
}

/** Quarantine id of a record without a usable key: 16 hex digits of a digest of its canonical JSON. */
export const keylessExternalId = (canonicalJson: string): string => `sha256:${hexDigest(canonicalJson).slice(0, 16)}`;

/** Text as a key that fits an index: beyond 512 bytes, `sha256:` and 64 hex digits. */
export const boundedKey = (text: string): string =>
  Buffer.byteLength(text) <= externalIdBytesMax ? text : `sha256:${hexDigest(text)}`;

const hexDigest = (text: string) => createHash('sha256').update(text).digest('hex');
