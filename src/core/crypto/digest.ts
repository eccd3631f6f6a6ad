import { hash } from 'node:crypto';

/** The hash of a text: SHA-256, base64url. */
export const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/** Characters of a fingerprint of a record: 15 bytes, which with their length fill 16 in a row of the control database. */
const fingerprintLength = 20;

/**
 * The fingerprint of a version of a record: 120 bits of SHA-256, base64url. Two versions of one record have the same by chance
 * once in 2^120; a change is then not delivered. Records are found by their key, never by it.
 */
export const fingerprintOf = (text: string): string => digestOf(text).slice(0, fingerprintLength);
