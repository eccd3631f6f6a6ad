import { createCipheriv, createDecipheriv } from 'node:crypto';

const algorithm = 'aes-256-gcm';
/** Bytes of a key. */
export const keyBytes = 32;
/** Bytes of a nonce. */
export const nonceBytes = 12;
const tagBytes = 16;

/** The key and nonce that something is encrypted under. A key never meets a nonce twice. */
interface CipherInput {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  /** Authenticated, not stored: what is moved elsewhere does not decrypt. */
  readonly aad: string;
}

/** The ciphertext, which ends with its tag of 16 bytes. Throws when the key is not 32 bytes. */
export function encrypt(plain: Uint8Array, { key, nonce, aad }: CipherInput): Buffer {
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(aad, 'utf8'));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/**
 * The plain bytes of what {@link encrypt} returned. Throws when the text was altered, or when key, nonce or `aad` are not
 * those that it was encrypted with.
 */
export function decrypt(sealed: Uint8Array, { key, nonce, aad }: CipherInput): Buffer {
  if (sealed.byteLength < tagBytes) throw new Error('The sealed value is too short to carry its tag.');
  // Node takes a tag of 4 bytes unless `authTagLength` is given (DEP0182).
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(aad, 'utf8'));
  decipher.setAuthTag(sealed.subarray(sealed.byteLength - tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, sealed.byteLength - tagBytes)), decipher.final()]);
  } catch (cause) {
    throw new Error('The sealed value cannot be decrypted: it was altered, or belongs to another row or key.', {
      cause,
    });
  }
}
