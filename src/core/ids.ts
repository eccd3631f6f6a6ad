import { typeidUnboxed } from 'typeid-js';

/** The prefix of each kind of id; the part after `_` is a base32 UUIDv7, so ids sort by creation time. */
export type IdPrefix = 'org' | 'ws' | 'spec' | 'specver' | 'con' | 'run' | 'call' | 'quar' | 'sched' | 'key';

/** A fresh, time-ordered id such as `run_01kae…` (TypeID). */
export const newId = (prefix: IdPrefix): string => typeidUnboxed(prefix);

const suffix = '[0-7][0-9a-hjkmnp-tv-z]{25}';
const patterns = new Map<IdPrefix, RegExp>();

/** The form of the ids of that kind. */
export function idPattern(prefix: IdPrefix): RegExp {
  let pattern = patterns.get(prefix);
  if (!pattern) {
    pattern = new RegExp(`^${prefix}_${suffix}$`);
    patterns.set(prefix, pattern);
  }
  return pattern;
}

/** Whether `value` has the form of an id of that kind. Checked before any query: anything else is a 404. */
export const isId = (prefix: IdPrefix, value: string): boolean => idPattern(prefix).test(value);
