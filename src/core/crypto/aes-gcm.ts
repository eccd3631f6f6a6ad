import { createCipheriv, createDecipheriv } from 'node:crypto';

const algorithm = 'aes-256-gcm';
export const keyBytes = 32;
export const nonceBytes = 12;
const tagBytes = 16;

/** A key must never meet a nonce twice. */
interface CipherInput {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  /** Authenticated, not stored: a value that is moved elsewhere does not decrypt. */
  readonly aad: string;
}

/** The ciphertext, ending with its tag of 16 bytes; throws if the key is not 32 bytes. */
export function encrypt(plain: Uint8Array, { key, nonce, aad }: CipherInput): Buffer {
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(aad, 'utf8'));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Throws if the text was altered, or if key, nonce or `aad` differ. */
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
