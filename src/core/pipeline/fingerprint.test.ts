import { expect, test } from 'vitest';
import { createFingerprint } from './fingerprint.ts';

const plain = createFingerprint({ ignore: [], salt: 'v1' });

test('is SHA-256 as base64url', () => {
  expect(plain({ a: 1 })).toMatch(/^[A-Za-z0-9_-]{20}$/);
});

test.each([
  ['the order of properties', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
  ['the spelling of numbers', '{"a":100,"b":0}', '{"a":1.0e2,"b":-0}'],
  ['the spelling of text', '{"a":"é"}', '{"a":"\\u00e9"}'],
])('does not depend on %s', (_what, one, other) => {
  expect(plain(JSON.parse(one))).toBe(plain(JSON.parse(other)));
});

test.each([
  ['a value', '{"a":1}', '{"a":2}'],
  ['a type', '{"a":1}', '{"a":"1"}'],
  ['a name', '{"a":1}', '{"b":1}'],
  ['null against missing', '{"a":null}', '{}'],
  ['the order of a list', '[1,2]', '[2,1]'],
  ['the place of a value', '{"a":{"b":1}}', '{"a":{},"b":1}'],
  ['a value below __proto__', '{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'],
])('tells apart %s', (_what, one, other) => {
  expect(plain(JSON.parse(one))).not.toBe(plain(JSON.parse(other)));
});

test('depends on the resource', () => {
  expect(createFingerprint({ ignore: [], salt: 'v2' })({ a: 1 })).not.toBe(plain({ a: 1 }));
});

test('leaves out ignored paths, in every element of a list', () => {
  const fingerprint = createFingerprint({ ignore: ['seenAt', 'meta.count', 'items.at', 'meta.count.x'], salt: 'v1' });
  const one = {
    id: 1,
    seenAt: 1,
    meta: { count: 1, kept: 1 },
    items: [
      { at: 1, n: 1 },
      { at: 2, n: 2 },
    ],
  };
  const other = { id: 1, seenAt: 2, meta: { count: { x: 9 }, kept: 1 }, items: [{ at: 5, n: 1 }, { n: 2 }] };
  expect(fingerprint(one)).toBe(fingerprint(other));
  expect(fingerprint(one)).not.toBe(fingerprint({ ...other, meta: { count: 1, kept: 2 } }));
  expect(fingerprint(one)).not.toBe(fingerprint({ ...other, items: [] }));
});
