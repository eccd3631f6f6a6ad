import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSecretBox, type RingKey, type SealedSecret, type SecretContext } from './secret-box.ts';

const ringKey = (id: string): RingKey => ({ id, key: randomBytes(32) });
const context: SecretContext = { orgId: 'org_a', ownerId: 'con_a', kind: 'params-secret' };

/** The bytes with one bit of the byte at `index` turned; a negative index counts from the end. */
const flipped = (bytes: Uint8Array, index: number): Uint8Array => {
  const copy = Uint8Array.from(bytes);
  const at = index < 0 ? copy.length + index : index;
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
};

describe('secret box', () => {
  it.each(['', 'hunter2', 'späße 🔑', 'x'.repeat(100_000)])('opens what it sealed: %.20s', (plaintext) => {
    const box = createSecretBox([ringKey('k1')]);
    expect(box.open(box.seal(plaintext, context), context)).toBe(plaintext);
  });

  it('knows a text by its fingerprint, also after the ring has got a new key', () => {
    const [old, current] = [ringKey('k1'), ringKey('k2')];
    const before = createSecretBox([old]).fingerprint('text');
    expect(createSecretBox([current, old]).isFingerprint(before, 'text')).toBe(true);
    expect(createSecretBox([current, old]).isFingerprint(before, 'other')).toBe(false);
    expect(createSecretBox([current]).isFingerprint(before, 'text')).toBe(false);
  });

  it('keeps the plaintext out of what is stored', () => {
    const sealed = createSecretBox([ringKey('k1')]).seal('hunter2-hunter2', context);
    const stored = Buffer.concat([sealed.wrappedKey, sealed.nonce, sealed.ciphertext]);
    expect(stored.includes('hunter2')).toBe(false);
  });

  it('seals the same value under a fresh data key and nonce each time', () => {
    const box = createSecretBox([ringKey('k1')]);
    const [first, second] = [box.seal('same', context), box.seal('same', context)];
    expect(first.nonce).not.toEqual(second.nonce);
    expect(first.wrappedKey).not.toEqual(second.wrappedKey);
    expect(first.ciphertext).not.toEqual(second.ciphertext);
  });

  it.each<Partial<SecretContext>>([{ orgId: 'org_b' }, { ownerId: 'con_b' }, { kind: 'oauth-token' }])(
    'refuses a value moved to %o',
    (moved) => {
      const box = createSecretBox([ringKey('k1')]);
      const sealed = box.seal('secret', context);
      expect(() => box.open(sealed, { ...context, ...moved })).toThrow('cannot be decrypted');
    },
  );

  it.each<[string, (sealed: SealedSecret) => Partial<SealedSecret>]>([
    ['a turned bit of the value', (sealed) => ({ ciphertext: flipped(sealed.ciphertext, 0) })],
    ['a turned bit of the tag', (sealed) => ({ ciphertext: flipped(sealed.ciphertext, -1) })],
    ['a turned bit of the nonce', (sealed) => ({ nonce: flipped(sealed.nonce, 0) })],
    ['a turned bit of the data key', (sealed) => ({ wrappedKey: flipped(sealed.wrappedKey, 20) })],
    ['a tag cut to four bytes', (sealed) => ({ ciphertext: sealed.ciphertext.subarray(0, -12) })],
    ['a value shorter than a tag', (sealed) => ({ ciphertext: sealed.ciphertext.subarray(0, 4) })],
  ])('refuses %s', (_what, alter) => {
    const box = createSecretBox([ringKey('k1')]);
    const sealed = box.seal('secret', context);
    expect(() => box.open({ ...sealed, ...alter(sealed) }, context)).toThrow('The sealed value');
  });

  it('opens values of an older key once a new one stands in front', () => {
    const old = ringKey('k1');
    const sealed = createSecretBox([old]).seal('secret', context);
    expect(createSecretBox([ringKey('k2'), old]).open(sealed, context)).toBe('secret');
  });

  it('re-wraps only the data key, after which the older key can go', () => {
    const [old, fresh] = [ringKey('k1'), ringKey('k2')];
    const sealed = createSecretBox([old]).seal('secret', context);
    const rewrapped = createSecretBox([fresh, old]).rewrap(sealed, context);
    expect(rewrapped).toMatchObject({ kekId: 'k2', ciphertext: sealed.ciphertext, nonce: sealed.nonce });
    expect(createSecretBox([fresh]).open(rewrapped, context)).toBe('secret');
  });

  it('names the missing key when the ring lost it', () => {
    const sealed = createSecretBox([ringKey('k1')]).seal('secret', context);
    expect(() => createSecretBox([ringKey('k2')]).open(sealed, context)).toThrow('does not contain the key k1');
  });

  it('refuses another key under the same id', () => {
    const sealed = createSecretBox([ringKey('k1')]).seal('secret', context);
    expect(() => createSecretBox([ringKey('k1')]).open(sealed, context)).toThrow('cannot be decrypted');
  });

  it('does not start with an empty ring or a short key', () => {
    expect(() => createSecretBox([])).toThrow('empty');
    expect(() => createSecretBox([{ id: 'k1', key: randomBytes(16) }])).toThrow('16 bytes');
  });
});
