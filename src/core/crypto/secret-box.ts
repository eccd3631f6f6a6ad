import { createHmac, randomBytes } from 'node:crypto';
import { decrypt, encrypt, keyBytes, nonceBytes } from './aes-gcm.ts';

/** A ring key wraps the data keys; 32 bytes. */
export interface RingKey {
  /** Stored beside what it wraps, so that an older key still opens it. */
  readonly id: string;
  readonly key: Uint8Array;
}

/** What a sealed value is for. A value sealed for one kind does not open as another. */
type SecretKind =
  | 'params-secret'
  | 'oauth-token'
  | 'oauth-verifier'
  | 'pending-grant'
  | 'webhook-secret'
  | 'upstream-webhook'
  | 'echo';

/** Where a value belongs; moved to another row it does not open. */
export interface SecretContext {
  readonly orgId: string;
  /**
   * Whose the value is, by kind. `params-secret`, `oauth-token`, `oauth-verifier`, `pending-grant`, `echo`: the id of the
   * connection. `webhook-secret`: the id of the secret's own row. `upstream-webhook`: the id of the hook.
   */
  readonly ownerId: string;
  readonly kind: SecretKind;
}

/** A sealed value as it is stored. */
export interface SealedSecret {
  /** The ring key that wraps `wrappedKey`. */
  readonly kekId: string;
  /** The data key: 12 bytes of nonce, 32 of key, 16 of tag. */
  readonly wrappedKey: Uint8Array;
  /** The nonce of `ciphertext`; 12 bytes. */
  readonly nonce: Uint8Array;
  /** The encrypted value, which ends with 16 bytes of tag. */
  readonly ciphertext: Uint8Array;
}

/** Envelope encryption of secrets at rest. */
export interface SecretBox {
  /** Seals a value under a data key of its own, so that a nonce never meets a key twice. */
  seal(plaintext: string, context: SecretContext): SealedSecret;
  /** Throws when the ring lacks the key, or when the value was altered or belongs elsewhere. */
  open(sealed: SealedSecret, context: SecretContext): string;
  /** Wraps the data key of a value under the ring's first key; the value itself is not decrypted. */
  rewrap(sealed: SealedSecret, context: SecretContext): SealedSecret;
  /**
   * Tells whether a text that may hold secrets is the same as before, and nothing else of it; base64url. Another key at
   * the head of the ring changes it.
   */
  fingerprint(text: string): string;
  /** The fingerprints of a text under every key of the ring: {@link SecretBox.fingerprint} first, the oldest key last. */
  fingerprints(text: string | Uint8Array): readonly string[];
  /** Whether a fingerprint is that of a text, under any key of the ring. */
  isFingerprint(fingerprint: string, text: string): boolean;
}

/** A box over the ring: the first key encrypts, all decrypt. Throws when the ring is empty or a key is not 32 bytes. */
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
