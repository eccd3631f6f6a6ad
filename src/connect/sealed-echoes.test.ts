import { expect, it } from 'vitest';
import { orgScope } from '../../db/scope.ts';
import { createSecretBox, type RingKey } from '../core/crypto/secret-box.ts';
import { createSealedEchoes } from './sealed-echoes.ts';

const ringKey = (id: string): RingKey => ({ id, key: new Uint8Array(32).fill(id.length) });
const echoesOf = (ring: readonly RingKey[], secret = 's3cret') =>
  createSealedEchoes(createSecretBox(ring), orgScope('org_a'), {
    connectionId: 'con_a',
    hasSecret: (text) => text.includes(secret),
  });

it('seals the texts that repeat a secret, and no others, and opens them again', () => {
  const value = { url: 'https://a.test/?key=s3cret', pages: 2, names: ['plain', null] };
  const hidden = echoesOf([ringKey('k1')]).hide(value);
  expect(hidden).toMatchObject({ url: expect.stringMatching(/^sealed:k1\./), pages: 2, names: ['plain', null] });
  expect(echoesOf([ringKey('k1')]).reveal(hidden, null)).toEqual(value);
});

it('keeps a text sealed whose secret has been replaced since', () => {
  const hidden = echoesOf([ringKey('k1')]).hide(['s3cret']);
  const later = echoesOf([ringKey('k22'), ringKey('k1')], 'another');
  expect(later.hide(later.reveal(hidden, [])).join()).toMatch(/^sealed:k22\./);
});

it('has nothing of a text whose key has left the ring, or that only looks sealed', () => {
  const hidden = echoesOf([ringKey('k1')]).hide(['s3cret']);
  expect(echoesOf([ringKey('k22')]).reveal(hidden, 'lost')).toBe('lost');
  expect(echoesOf([ringKey('k1')]).reveal('sealed:k1.a.b.c', 'lost')).toBe('lost');
});
