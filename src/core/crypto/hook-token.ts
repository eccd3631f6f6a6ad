import { createHash, randomBytes } from 'node:crypto';

/** A fresh token for the address of a hook: 256 random bits, 43 characters. Shown once; its hash is stored. */
export const makeHookToken = (): string => randomBytes(32).toString('base64url');

/** What is stored of a token: SHA-256, 32 bytes; enough for 256 random bits. */
export const hashHookToken = (token: string): Buffer => createHash('sha256').update(token).digest();
