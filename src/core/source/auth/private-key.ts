import { createPrivateKey, type KeyObject } from 'node:crypto';
import { AppError } from '../../errors.ts';

/** A private key and its key id. */
export interface SigningKey {
  readonly key: KeyObject;
  /** `kid` of a JWK; null: it has none. */
  readonly keyId: string | null;
}

/**
 * The private key in a text: PEM (PKCS#8, PKCS#1, SEC 1), also with its line breaks written as `\n`, or a JWK. Throws
 * `auth_failed`, with `place` for the message, when it is none.
 */
export function parsePrivateKey(text: string, place: string): SigningKey {
  const trimmed = text.trim();
  try {
    if (!trimmed.startsWith('{')) return { key: createPrivateKey(trimmed.replaceAll('\\n', '\n')), keyId: null };
    const jwk = JSON.parse(trimmed);
    return {
      key: createPrivateKey({ key: jwk, format: 'jwk' }),
      keyId: typeof jwk.kid === 'string' ? jwk.kid : null,
    };
  } catch (cause) {
    // The parser's own message may quote the text.
    const name = cause instanceof Error ? cause.name : 'fault';
    const message = `${place} is not a private key in PEM or JWK form (${name}). Correct that secret of the connection.`;
    throw new AppError('auth_failed', message);
  }
}

/** The signature algorithm that fits a key (RFC 7518, RFC 8037). Throws `auth_failed` when there is none. */
export function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, place: string): string {
  const name = asymmetricKeyType === 'ec' ? asymmetricKeyDetails?.namedCurve : asymmetricKeyType;
  const algorithm = algorithms[name ?? ''];
  if (algorithm !== undefined) return algorithm;
  throw new AppError('auth_failed', `${place} is a key without a supported signature algorithm. Use RSA or P-256.`);
}

const algorithms: Readonly<Record<string, string>> = {
  rsa: 'RS256',
  'rsa-pss': 'PS256',
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
  ed25519: 'EdDSA',
};
