import { expect, test } from 'vitest';
import { textArray } from './binary-arrays.ts';

test.each([
  ['plain ones', ['a', '', null, 'b....c', 'Ada']],
  ['such that are not ASCII', ['é', null, '😀', '....', 'ß']],
  ['none', []],
])('carries %s', (_what, values) => {
  expect(textsOf(textArray(values))).toEqual(values);
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
