import { hash as digest, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** `key` is shown once; the rest is stored. */
export interface NewApiKey {
  /** `ck_`, 12 characters of lookup id, 32 of secret (190 bits), 6 of CRC-32: 53 in all. */
  readonly key: string;
  readonly lookupId: string;
  /** SHA-256 of the whole key, which is enough for 190 random bits. */
  readonly hash: Uint8Array;
  readonly last4: string;
}

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
const secretLength = 32;
const checksumLength = 6;
const prefix = 'ck_';
const form = new RegExp(`^${prefix}[0-9A-Za-z]{${idLength + secretLength + checksumLength}}$`);

export function makeApiKey(): NewApiKey {
  const body = prefix + randomText(idLength + secretLength);
  const key = body + checksumOf(body);
  return { key, lookupId: lookupIdOf(key), hash: hashApiKey(key), last4: key.slice(-4) };
}

/** The lookup id of a well-formed key; `null` if form or checksum is wrong, which saves a query. */
export function parseApiKey(key: string): string | null {
  if (!form.test(key)) return null;
  const body = key.slice(0, -checksumLength);
  return key.endsWith(checksumOf(body)) ? lookupIdOf(key) : null;
}

/** SHA-256, 32 bytes, in a single call: each request needs one, and a hash object costs more than the hash. */
export const hashApiKey = (key: string): Uint8Array => digest('sha256', key, 'buffer');

/** `null` (an unknown key) takes the same time and never matches. */
export function isApiKey(key: string, hash: Uint8Array | null): boolean {
  const same = timingSafeEqual(hashApiKey(key), hash ?? noHash);
  return same && hash !== null;
}

const noHash = new Uint8Array(32);

const lookupIdOf = (key: string): string => key.slice(prefix.length, prefix.length + idLength);

const randomText = (length: number): string => Array.from({ length }, () => digits.charAt(randomInt(62))).join('');

function checksumOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  while (text.length < checksumLength) {
    text = digits.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
