import { expect, test } from 'vitest';
import { findIssue } from './record-gate.ts';

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

test.each([
  ['an ordinary record', { id: 1, name: 'Ada', tags: ['x'], address: { zip: null }, ok: true }],
  ['64 levels', nested(64)],
  ['an emoji', { s: '😀' }],
  ['the largest number', { n: Number.MAX_VALUE }],
  ['a scalar', 'text'],
  ['99,999 values in a list', Array.from({ length: 99_999 }, () => 0)],
])('lets %s pass', (_what, record) => {
  expect(findIssue(record)).toBeNull();
});

test.each([
  ['65 levels', nested(65), 'deeper than 64'],
  ['100,000 levels', nested(100_000), 'deeper than 64'],
  ['100,001 values', Array.from({ length: 100_001 }, () => 0), 'more than 100000 values'],
  ['NUL', { a: ['x\0'] }, 'NUL'],
  ['NUL in a name', { 'a\0': 1 }, 'property name'],
  ['half a surrogate pair', { a: '\ud800' }, 'surrogate'],
  ['half a surrogate pair in a name', { '\udc00': 1 }, 'surrogate'],
  ['a number beyond JSON', JSON.parse('{"a":1e400}'), 'range'],
  ['__proto__', JSON.parse('{"a":{"__proto__":1}}'), '__proto__'],
  ['constructor', { constructor: 1 }, 'constructor'],
  ['prototype', { prototype: {} }, 'prototype'],
  ['a function', { f: () => 1 }, 'function'],
])('refuses %s and says why', (_what, record, reason) => {
  expect(findIssue(record)).toContain(reason);
});
