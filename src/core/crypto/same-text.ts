import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares a given secret with the expected one in constant time. */
export const isSameText = (given: string, expected: string): boolean =>
  timingSafeEqual(digest(given), digest(expected));

/** Digests have equal lengths, as a comparison in constant time requires. */
const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
