/** In order: the first encrypts, all decrypt. `key` is 32 bytes (AES-256). */
export type KeyRing = readonly { readonly id: string; readonly key: Uint8Array }[];

/** The form of `SECRETS_KEYS`; shown instead of a faulty value. */
export const keyRingForm =
  'id:base64,id:base64,... with distinct ids of letters, digits, _ and -, and keys of 32 bytes';

const entry = /^(?<id>[A-Za-z0-9_-]{1,32}):(?<base64>[A-Za-z0-9+/]{43}=?)$/;

/** `null` if it does not have the form of {@link keyRingForm}. */
export function parseKeyRing(value: string): KeyRing | null {
  const ring = value.split(',').map(parseEntry);
  const keys = ring.filter((key) => key !== null);
  const distinct = new Set(keys.map(({ id }) => id)).size === keys.length;
  return keys.length === ring.length && distinct ? keys : null;
}

/** The inverse of {@link parseKeyRing}. */
export function formatKeyRing(ring: KeyRing): string {
  return ring.map(({ id, key }) => `${id}:${Buffer.from(key).toString('base64')}`).join(',');
}

function parseEntry(text: string): KeyRing[number] | null {
  const { id, base64 } = entry.exec(text.trim())?.groups ?? {};
  if (id === undefined || base64 === undefined) return null;
  const key = new Uint8Array(Buffer.from(base64, 'base64'));
  return key.length === 32 ? { id, key } : null;
}
