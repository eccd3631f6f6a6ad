import { expect, test } from 'vitest';
import { type ArrayFormat, queryPairs } from './query-string.ts';

test.each<[ArrayFormat, readonly (readonly [string, string])[]]>([
  [
    'repeat',
    [
      ['t', 'a'],
      ['t', '1'],
    ],
  ],
  ['comma', [['t', 'a,1']]],
  [
    'brackets',
    [
      ['t[]', 'a'],
      ['t[]', '1'],
    ],
  ],
  [
    'indices',
    [
      ['t[0]', 'a'],
      ['t[1]', '1'],
    ],
  ],
])('writes a list in the form %s', (format, pairs) => {
  expect(queryPairs({ t: ['a', null, 1] }, format)).toEqual(pairs);
});

test('nested objects are written in brackets; null, missing values and empty lists are left out', () => {
  const query = { limit: 5, on: false, none: null, list: [], created: { gte: 1, lt: null, in: { x: 'y' } } };
  expect(queryPairs(query, 'repeat')).toEqual([
    ['limit', '5'],
    ['on', 'false'],
    ['created[gte]', '1'],
    ['created[in][x]', 'y'],
  ]);
});

test('objects in a list have their index in every form', () => {
  expect(queryPairs({ f: [{ a: 1 }, { a: 2 }] }, 'repeat')).toEqual([
    ['f[0][a]', '1'],
    ['f[1][a]', '2'],
  ]);
});
