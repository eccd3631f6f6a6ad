import { createHash } from 'node:crypto';
import { fromUUIDBytes, TypeID, typeidUnboxed } from 'typeid-js';

/** Prefix of each kind of id; a UUIDv7 in base32 follows, so ids of {@link newId} sort by creation time. */
export type IdPrefix =
  | 'org'
  | 'ws'
  | 'spec'
  | 'specver'
  | 'con'
  | 'run'
  | 'call'
  | 'quar'
  | 'sched'
  | 'key'
  | 'evt'
  | 'whe'
  | 'whs'
  | 'whd'
  | 'whr'
  | 'hook'
  | 'hreq'
  | 'oap'
  | 'cse';

/** A fresh, time-ordered id such as `run_01kae…` (TypeID). */
export const newId = (prefix: IdPrefix): string => typeidUnboxed(prefix);

/** A bound: ids made before the time sort before it, all others after it. */
export function firstIdAt(prefix: IdPrefix, time: Date): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(time.getTime(), 0, 6);
  return fromUUIDBytes(prefix, bytes).toString();
}

/** Creation time to the millisecond; throws for a text that is not an id. */
export const timeOfId = (id: string): Date =>
  new Date(Buffer.from(TypeID.fromString(id).toUUIDBytes()).readUIntBE(0, 6));

/** An id derived from its parts: equal parts, equal id; it says nothing about time. */
export const hashId = (prefix: IdPrefix, parts: readonly string[]): string =>
  fromUUIDBytes(prefix, createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, 16)).toString();

const suffix = '[0-7][0-9a-hjkmnp-tv-z]{25}';
const patterns = new Map<IdPrefix, RegExp>();

export function idPattern(prefix: IdPrefix): RegExp {
  let pattern = patterns.get(prefix);
  if (!pattern) {
    pattern = new RegExp(`^${prefix}_${suffix}$`);
    patterns.set(prefix, pattern);
  }
  return pattern;
}

/** Checked before any query: anything else is a 404. */
export const isId = (prefix: IdPrefix, value: string): boolean => idPattern(prefix).test(value);
