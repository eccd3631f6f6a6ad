import { expect, it } from 'vitest';
import { documentGate } from './document-gate.ts';

it.each([
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['a bigint', 1n],
  ['a function', () => 1],
  ['undefined in a list', [undefined]],
])('refuses %s, which is not JSON, so it never reaches a checksum', (_, value) => {
  expect(documentGate(value)).toMatchObject({ code: 'schema', message: expect.stringMatching(/not JSON|finite/) });
});
