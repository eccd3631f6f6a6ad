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

it('seals a value that repeats a secret as a whole, and no other, and opens it again', () => {
  const { hide } = echoesOf([ringKey('k1')]);
  const { reveal } = echoesOf([ringKey('k1')]);
  const values = [
    { url: 'https://a.test/?key=s3cret', pages: 2, names: ['plain', null] },
    { map: { s3cret: 1 } },
    ['s3cret', 's3cret'],
    'a token of s3cret',
  ];
  for (const value of values) {
    const hidden = JSON.stringify(hide(value));
    expect(hidden).toMatch(/^(?:\{"sealed":)?"sealed:k1\.[^"]+"\}?$/);
    expect(reveal(JSON.parse(hidden), null)).toEqual(value);
  }
  for (const value of [{ url: 'https://a.test/', pages: 2 }, 'plain', null]) expect(hide(value)).toBe(value);
});

it('seals a number that is a secret', () => {
  const { hide } = echoesOf([ringKey('k1')], '73051996248113');
  const hidden = hide({ cursor: 73_051_996_248_113 });
  expect(JSON.stringify(hidden)).not.toContain('73051996248113');
  expect(echoesOf([ringKey('k1')]).reveal(hidden, null)).toEqual({ cursor: 73_051_996_248_113 });
});

it('keeps in the clear what queries ask for', () => {
  const { hide } = echoesOf([ringKey('k1')]);
  const hidden = hide({ stage: 'list', url: 's3cret' }, { stage: 'list' });
  expect(hidden).toEqual({ stage: 'list', sealed: expect.stringMatching(/^sealed:k1\./) });
});

it('seals a value of any number of texts in the time of one', () => {
  const value = { tags: Array(200_000).fill('s3cret') };
  const { hide, reveal } = echoesOf([ringKey('k1')]);
  const begun = performance.now();
  expect(reveal(hide(value), null)).toEqual(value);
  // One by one they take ten seconds.
  expect(performance.now() - begun).toBeLessThan(2000);
});

it('opens the texts that an earlier version sealed one by one, unless a destination has made many of one', () => {
  const { seal, reveal } = echoesOf([ringKey('k1')]);
  expect(reveal({ stage: 'list', url: seal('s3cret') }, null)).toEqual({ stage: 'list', url: 's3cret' });
  expect(reveal(Array(100_000).fill(seal('s3cret')), 'lost')).toBe('lost');
});

it('keeps sealed what was, though its secret has been replaced since', () => {
  const before = echoesOf([ringKey('k1')]);
  const later = () => echoesOf([ringKey('k22'), ringKey('k1')], 'another');
  const [ofText, ofValue] = [later(), later()];
  expect(ofText.hide(ofText.reveal(before.hide('s3cret'), ''))).toMatch(/^sealed:k22\./);
  expect(ofText.hide('plain')).toBe('plain');
  ofValue.reveal(before.hide(['s3cret']), null);
  expect(ofValue.hide(['behind it'])).toEqual({ sealed: expect.stringMatching(/^sealed:k22\./) });
  expect(ofValue.hideNew(['just sent'])).toEqual(['just sent']);
});

it('has nothing of a text whose key has left the ring, or that only looks sealed', () => {
  const hidden = echoesOf([ringKey('k1')]).hide(['s3cret']);
  expect(echoesOf([ringKey('k22')]).reveal(hidden, 'lost')).toBe('lost');
  expect(echoesOf([ringKey('k1')]).reveal('sealed:k1.a.b.c', 'lost')).toBe('lost');
});
