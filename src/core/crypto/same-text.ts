import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether a secret that somebody shows is the expected one; the time it takes tells nothing of where they differ. */
export const isSameText = (given: string, expected: string): boolean =>
  timingSafeEqual(digest(given), digest(expected));

/** The digest of a text, of the same length for every text, which comparing in constant time takes. */
const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
