import { createPublicKey, sign, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeSigningKeyPair, signingKeyOf } from './signing-key-pair.ts';

const publicKeyOf = (publicKey: string) =>
  createPublicKey({
    format: 'jwk',
    key: {
      kty: 'OKP',
      crv: 'Ed25519',
      x: Buffer.from(publicKey.slice('whpk_'.length), 'base64').toString('base64url'),
    },
  });

describe('a signing key pair', () => {
  it('signs what its public key verifies, and no other', () => {
    const [pair, other] = [makeSigningKeyPair(), makeSigningKeyPair()];
    const content = Buffer.from('evt_1.1700000000.{}');
    const signature = sign(null, content, signingKeyOf(pair.privateKey));
    expect(verify(null, content, publicKeyOf(pair.publicKey), signature)).toBe(true);
    expect(verify(null, content, publicKeyOf(other.publicKey), signature)).toBe(false);
  });

  it('is written as Standard Webhooks writes it', () => {
    const { privateKey, publicKey } = makeSigningKeyPair();
    expect(privateKey).toMatch(/^whsk_[A-Za-z0-9+/]{86}==$/);
    expect(publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    const bytes = Buffer.from(privateKey.slice('whsk_'.length), 'base64');
    expect(bytes.subarray(32).toString('base64')).toBe(publicKey.slice('whpk_'.length));
  });

  // The pair that the libraries of Svix test with.
  it('of another implementation is read', () => {
    const privateKey = 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==';
    const publicKey = 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=';
    const content = Buffer.from('msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}');
    const signature = sign(null, content, signingKeyOf(privateKey));
    expect(verify(null, content, publicKeyOf(publicKey), signature)).toBe(true);
  });

  it.each(['whsec_AAAA', 'whsk_AAAA', ''])('is not %j', (text) => {
    expect(() => signingKeyOf(text)).toThrow('not a private key');
  });
});
