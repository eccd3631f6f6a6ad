import { expect, test } from 'vitest';
import { excessBytes } from './record-size.ts';

test.each([
  ['a small record', { id: 1 }],
  ['a record of as many bytes as it may have', { a: 'x'.repeat(1000 - '{"a":""}'.length) }],
  ['many values', Array.from({ length: 400 }, () => 1)],
])('%s is not too large', (_, record) => {
  expect(excessBytes(record, 1000)).toBeNull();
});

test.each([
  ['a text', { a: 'x'.repeat(1000 - '{"a":""}'.length + 1) }, 1001],
  ['a name', { ['x'.repeat(1000)]: 1 }, 1006],
  ['characters of three bytes', { a: '€'.repeat(400) }, 1208],
  ['escapes', { a: '\u0001'.repeat(200) }, 1208],
  ['many values', Array.from({ length: 1000 }, () => 1), 2001],
])('is reported as too large by %s, with its size', (_, record, bytes) => {
  expect(excessBytes(record, 1000)).toBe(bytes);
});
