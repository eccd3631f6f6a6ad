import { expect, test } from 'vitest';
import { storableTextArray, textArray } from './binary-arrays.ts';

test.each([
  ['plain ones', ['a', '', null, 'b....c', 'Ada']],
  ['such that are not ASCII', ['é', null, '😀', '....', 'ß']],
  ['none', []],
])('carries %s', (_what, values) => {
  expect(textsOf(textArray(values))).toEqual(values);
  expect(storableTextArray(values)).toEqual(textArray(values));
});

test('leaves out what no text of PostgreSQL has, and nothing beside it', () => {
  const values = ['a\0b', '\0', null, 'é', 'x\ud83d', '\ude00y', '\0\ud800'];
  expect(textsOf(storableTextArray(values))).toEqual(['ab', '', null, 'é', 'x\ufffd', '\ufffdy', '\ufffd']);
});

/** The texts of a one-dimensional array of the binary protocol. */
function textsOf(bytes: Buffer): (string | null)[] {
  const texts: (string | null)[] = [];
  let at = 20;
  while (at < bytes.length) {
    const length = bytes.readInt32BE(at);
    at += 4;
    texts.push(length === -1 ? null : bytes.toString('utf8', at, at + length));
    at += Math.max(length, 0);
  }
  expect(bytes.readInt32BE(12)).toBe(texts.length);
  return texts;
}
