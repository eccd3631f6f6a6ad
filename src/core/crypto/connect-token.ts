import { createHash, randomBytes } from 'node:crypto';
import { isSameText } from './same-text.ts';

/** `cst_`, the 26 characters of the session's id behind its prefix, and 256 random bits in 43 characters. */
export const makeConnectToken = (sessionId: string): string =>
  `cst_${sessionId.slice('cse_'.length)}${randomBytes(32).toString('base64url')}`;

const form = /^cst_(?<id>[0-7][0-9a-hjkmnp-tv-z]{25})[\w-]{43}$/;

/** The id of the session that a token names; `null` if it has another form. */
export function sessionOfToken(token: string): string | null {
  const id = form.exec(token)?.groups?.['id'];
  return id === undefined ? null : `cse_${id}`;
}

/** A code or cookie of 256 random bits in 43 characters; only its hash is stored. */
export const makeConnectSecret = (): string => randomBytes(32).toString('base64url');

/** SHA-256, which is enough for 256 random bits. */
export const hashConnectSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** In constant time; never for `null`. */
export const isConnectSecret = (secret: string, hash: Uint8Array | null): boolean =>
  hash !== null && isSameText(hashConnectSecret(secret).toString('hex'), Buffer.from(hash).toString('hex'));
