import { hash } from 'node:crypto';
import { storableJson } from '../../json/storable-json.ts';
import type { GuardState } from '../../model/read-position.ts';

/** Remembers the pages of one window and detects a repeated one. */
export interface PageGuard {
  /** True when the key was seen before in this window; remembers it otherwise. */
  repeats(key: string): boolean;
  state(): GuardState;
}

/** The state at the start of a window. */
export const noPages: GuardState = { count: 0, marks: [] };

/** 64 bits of SHA-256 of a token, URL or page: a false match among 10,000 has odds of 1 in 10^11. */
export const pageKey = (content: unknown): string => hash('sha256', jsonOf(content), 'hex').slice(0, 16);

/**
 * The JSON of a page. Of a record nested too deep for `JSON.stringify` only the upper levels count: it must not fail
 * the page.
 */
export function jsonOf(content: unknown): string {
  try {
    return JSON.stringify(content);
  } catch (error) {
    if (error instanceof RangeError) return storableJson(content);
    throw error;
  }
}

/** A guard that continues from a stored state. */
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
