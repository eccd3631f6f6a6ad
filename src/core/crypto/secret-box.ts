import { createHmac, randomBytes } from 'node:crypto';
import { decrypt, encrypt, keyBytes, nonceBytes } from './aes-gcm.ts';

/** A key of the ring, 32 bytes, which wraps data keys. */
export interface RingKey {
  /** Stored beside the wrapped key, so that an older key still opens it. */
  readonly id: string;
  readonly key: Uint8Array;
}

/** A value sealed for one kind does not open as another. */
type SecretKind =
  | 'params-secret'
  | 'oauth-token'
  | 'oauth-verifier'
  | 'pending-grant'
  | 'oauth-app'
  | 'webhook-secret'
  | 'upstream-webhook'
  | 'connect-session'
  | 'echo';

/** The place of a value; it does not open in another row. */
export interface SecretContext {
  readonly orgId: string;
  /**
   * Id of the owner: the secret's own row for `webhook-secret`, the hook for `upstream-webhook`, the app for `oauth-app`,
   * the session for `connect-session`, otherwise the connection.
   */
  readonly ownerId: string;
  readonly kind: SecretKind;
}

export interface SealedSecret {
  readonly kekId: string;
  /** The data key: 12 bytes of nonce, 32 of key, 16 of tag. */
  readonly wrappedKey: Uint8Array;
  /** Nonce of `ciphertext`, 12 bytes. */
  readonly nonce: Uint8Array;
  /** Encrypted value, followed by a tag of 16 bytes. */
  readonly ciphertext: Uint8Array;
}

export interface SecretBox {
  /** Seals a value under its own data key, so that a nonce never meets a key twice. */
  seal(plaintext: string, context: SecretContext): SealedSecret;
  /** Throws if the ring lacks the key, or the value was altered or belongs elsewhere. */
  open(sealed: SealedSecret, context: SecretContext): string;
  /** Wraps the data key under the ring's first key; the value itself is not decrypted. */
  rewrap(sealed: SealedSecret, context: SecretContext): SealedSecret;
  /** A base64url text that shows only whether a text with secrets changed; a new first key in the ring changes it. */
  fingerprint(text: string): string;
  /** Fingerprints of a text under every key of the ring, from the current to the oldest. */
  fingerprints(text: string | Uint8Array): readonly string[];
  /** Whether a fingerprint is that of a text, under any key of the ring. */
  isFingerprint(fingerprint: string, text: string): boolean;
}

/** The first key of the ring encrypts, all decrypt; throws if the ring is empty or a key is not 32 bytes. */
export function createSecretBox(ring: readonly RingKey[]): SecretBox {
  const [current] = ring;
  if (!current) throw new Error('The key ring is empty: a secret box needs at least one key.');
  for (const { id, key } of ring) {
    if (key.byteLength !== keyBytes) throw new Error(`Key ${id} of the ring has ${key.byteLength} bytes, not 32.`);
  }

  const wrap = (dataKey: Uint8Array, context: SecretContext): Pick<SealedSecret, 'kekId' | 'wrappedKey'> => {
    const nonce = randomBytes(nonceBytes);
    const wrapped = encrypt(dataKey, { key: current.key, nonce, aad: wrapAad(context, current.id) });
    return { kekId: current.id, wrappedKey: Buffer.concat([nonce, wrapped]) };
  };
  const unwrap = ({ kekId, wrappedKey }: SealedSecret, context: SecretContext): Uint8Array => {
    const ringKey = ring.find(({ id }) => id === kekId);
    if (!ringKey)
      throw new Error(`SECRETS_KEYS does not contain the key ${kekId}: add it again after the current key.`);
    const nonce = wrappedKey.subarray(0, nonceBytes);
    return decrypt(wrappedKey.subarray(nonceBytes), { key: ringKey.key, nonce, aad: wrapAad(context, kekId) });
  };

  return {
    seal(plaintext, context) {
      const dataKey = randomBytes(keyBytes);
      const nonce = randomBytes(nonceBytes);
      const ciphertext = encrypt(Buffer.from(plaintext, 'utf8'), { key: dataKey, nonce, aad: dataAad(context) });
      return { ...wrap(dataKey, context), nonce, ciphertext };
    },
    open(sealed, context) {
      const key = unwrap(sealed, context);
      return decrypt(sealed.ciphertext, { key, nonce: sealed.nonce, aad: dataAad(context) }).toString('utf8');
    },
    fingerprint: (text) => fingerprintUnder(current, text),
    fingerprints: (text) => ring.map((key) => fingerprintUnder(key, text)),
    isFingerprint: (fingerprint, text) => ring.some((key) => fingerprintUnder(key, text) === fingerprint),
    rewrap: (sealed, context) => ({ ...sealed, ...wrap(unwrap(sealed, context), context) }),
  };
}

const fingerprintUnder = ({ key }: RingKey, text: string | Uint8Array): string =>
  createHmac('sha256', key).update('fingerprint\0').update(text).digest('base64url');

// The data key is bound to its ring key, the value is not: re-wrapping must not touch the value.
const dataAad = ({ orgId, ownerId, kind }: SecretContext): string => `css|1|${orgId}|${ownerId}|${kind}`;
const wrapAad = (context: SecretContext, kekId: string): string => `${dataAad(context)}|${kekId}`;
