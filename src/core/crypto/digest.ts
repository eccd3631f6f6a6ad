import { hash } from 'node:crypto';

/** SHA-256 of a text, base64url. */
export const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/** Characters of a record's fingerprint: 15 bytes, which fill 16 with their length in a row of the control database. */
const fingerprintLength = 20;

/**
 * Fingerprint of a version of a record: 120 bits of SHA-256, base64url. Two versions of one record collide once in
 * 2^120; that change is not delivered. Records are found by key, never by fingerprint.
 */
export const fingerprintOf = (text: string): string => digestOf(text).slice(0, fingerprintLength);
