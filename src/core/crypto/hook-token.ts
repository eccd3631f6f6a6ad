import { createHash, randomBytes } from 'node:crypto';

/** A token of 256 random bits in 43 characters, shown once; only its hash is stored. */
export const makeHookToken = (): string => randomBytes(32).toString('base64url');

/** SHA-256, which is enough for 256 random bits. */
export const hashHookToken = (token: string): Buffer => createHash('sha256').update(token).digest();
