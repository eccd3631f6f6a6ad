import { expect, test } from 'vitest';
import { findIssue } from './record-gate.ts';
import { storableJson } from './storable-json.ts';

test('a sound record is unchanged', () => {
  const record = { id: 1, s: 'back\\slash \\u0000 "quote" 😀 \n', list: [null, true, { a: {} }], n: -0.5 };
  expect(storableJson(record)).toBe(JSON.stringify(record));
});

test.each([
  ['NUL', { a: 'x\0y' }, '{"a":"x\\\\u0000y"}'],
  ['NUL in a name', { 'a\0': 1 }, '{"a\\\\u0000":1}'],
  ['lone surrogates', { a: '\ud800x\udc00😀' }, '{"a":"\\\\ud800x\\\\udc00😀"}'],
  ['a number beyond JSON', JSON.parse('[1e400,-1e400]'), '["Infinity","-Infinity"]'],
  ['a __proto__ key', JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
  ['nothing', undefined, 'null'],
])('keeps %s visible', (_what, record, expected) => {
  expect(storableJson(record)).toBe(expected);
});

test('cuts off levels that the database could not take', () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`);
  const text = storableJson(deep);
  expect(text).toContain('(deeper levels left out)');
  expect(findIssue(JSON.parse(text))).toBeNull();
});

test('masks strings, names and numbers without breaking the JSON', () => {
  const redact = (text: string): string => text.replaceAll('123456', '[redacted]').replaceAll('a"b', '[redacted]');
  const record = { account: 123456, 'a"b': ['x a"b', true, null], n: 7, id: -1234567 };
  expect(JSON.parse(storableJson(record, redact))).toEqual({
    account: '[redacted]',
    '[redacted]': ['x [redacted]', true, null],
    n: 7,
    id: '-[redacted]7',
  });
});
