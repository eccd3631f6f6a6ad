import { hash } from 'node:crypto';
import { storableJson } from '../../json/storable-json.ts';
import type { GuardState } from '../../model/read-position.ts';

/** Detects repeated pages in one window. */
export interface PageGuard {
  /** Remembers a key that is new in this window. */
  repeats(key: string): boolean;
  state(): GuardState;
}

export const noPages: GuardState = { count: 0, marks: [] };

/** 64 bits of SHA-256, so a false match among 10,000 has odds of 1 in 10^11. */
export const pageKey = (content: unknown): string => hash('sha256', jsonOf(content), 'hex').slice(0, 16);

/** Only the upper levels count of a record too deep for `JSON.stringify`, as it must not fail the page. */
export function jsonOf(content: unknown): string {
  try {
    return JSON.stringify(content);
  } catch (error) {
    if (error instanceof RangeError) return storableJson(content);
    throw error;
  }
}

export function createPageGuard(from: GuardState): PageGuard {
  const seen = new Set(from.marks);
  let { count } = from;
  let kept = from.marks.slice(0, -1);
  let latest = from.marks.at(-1);
  return {
    repeats: (key) => {
      if (seen.has(key)) return true;
      seen.add(key);
      if (latest !== undefined && isPowerOfTwo(count)) kept = [...kept, latest];
      count += 1;
      latest = key;
      return false;
    },
    state: () => ({ count, marks: latest === undefined ? kept : [...kept, latest] }),
  };
}

const isPowerOfTwo = (count: number) => count > 0 && (count & (count - 1)) === 0;
