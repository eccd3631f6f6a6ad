import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** An ed25519 pair for the scheme `v1a`, in the notation of Standard Webhooks. */
export interface SigningKeyPair {
  /** `whsk_` and the base64 of 64 bytes: seed, then public key. */
  readonly privateKey: string;
  /** `whpk_` and the base64 of 32 bytes. */
  readonly publicKey: string;
}

const [privatePrefix, publicPrefix] = ['whsk_', 'whpk_'];
const seedBytes = 32;

export function makeSigningKeyPair(): SigningKeyPair {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, point] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')];
  return {
    privateKey: `${privatePrefix}${Buffer.concat([seed, point]).toString('base64')}`,
    publicKey: `${publicPrefix}${point.toString('base64')}`,
  };
}

/** Throws if the text is not the private key of a {@link SigningKeyPair}. */
export function signingKeyOf(privateKey: string): KeyObject {
  const bytes = Buffer.from(privateKey.slice(privatePrefix.length), 'base64');
  if (!privateKey.startsWith(privatePrefix) || bytes.length !== 2 * seedBytes) {
    throw new Error('This is not a private key of a v1a key pair.');
  }
  const [d, x] = [bytes.subarray(0, seedBytes), bytes.subarray(seedBytes)].map((part) => part.toString('base64url'));
  return createPrivateKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', d: d ?? '', x: x ?? '' } });
}
