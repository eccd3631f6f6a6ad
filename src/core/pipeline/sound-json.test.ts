import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import { findDefect } from './record-gate.ts';
import { soundJson } from './sound-json.ts';

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

test.each([
  ['an ordinary record', { id: 1, b: 'Ada', a: ['x', { d: null, c: -0 }], address: { zip: null }, ok: true }],
  ['64 levels', nested(64)],
  ['an emoji, a tab and a quote', { s: '😀\t"' }],
  ['a scalar', 'text'],
  ['150 columns', Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`c${(n * 7) % 150}`, n]))],
  ['names that are numbers', { b: 1, 10: { 2: 'x', 1: 'y' }, 9: 0, a: [] }],
  ['99,999 values in a list', zeros(99_999)],
])('is the canonical JSON of %s', (_what, record) => {
  expect(findDefect(record)).toBeNull();
  // What is learnt of its names shows when they come again.
  for (let time = 1; time <= 3; time += 1) expect(soundJson(record)).toBe(canonicalJson(record));
});

test.each([
  ['65 levels', nested(65)],
  ['100,000 levels', nested(100_000)],
  ['100,001 values', zeros(100_001)],
  ['100,001 values in lists', [zeros(50_000), zeros(50_000)]],
  ['NUL', { a: ['x\0'] }],
  ['NUL in a name', { 'a\0': 1 }],
  ['half a surrogate pair', { a: '\ud800' }],
  ['half a surrogate pair in a name', { '\udc00': 1 }],
  ['a number beyond JSON', JSON.parse('{"a":[1e400]}')],
  ['__proto__', JSON.parse('{"a":{"__proto__":1}}')],
  ['constructor', { constructor: 1 }],
  ['a function', { f: () => 1 }],
  ['what is undefined', { a: undefined }],
])('is null for %s', (_what, record) => {
  expect(findDefect(record)).not.toBeNull();
  expect(soundJson(record)).toBeNull();
});

test('leaves a record to the gate that has a character which is written as an escape', () => {
  expect(findDefect({ a: '\u0001' })).toBeNull();
  expect(soundJson({ a: '\u0001' })).toBeNull();
});
