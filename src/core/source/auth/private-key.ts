import { createPrivateKey, type KeyObject } from 'node:crypto';
import { AppError } from '../../errors.ts';

export interface SigningKey {
  readonly key: KeyObject;
  readonly keyId: string | null;
}

/** Parses PEM (PKCS#8, PKCS#1, SEC 1; also with line breaks as `\n`) or a JWK, throwing `auth_failed` for anything else. */
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
    // Without a cause: the parser's message may quote the text.
    const name = cause instanceof Error ? cause.name : 'fault';
    const message = `${place} is not a private key in PEM or JWK form (${name}). Correct that secret of the connection.`;
    throw new AppError('auth_failed', message);
  }
}

/** Signature algorithm that fits a key (RFC 7518, RFC 8037); throws `auth_failed` if none does. */
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
