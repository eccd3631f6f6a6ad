import jsonata from 'jsonata';
import { expect, test } from 'vitest';
import { arrayOnPath, compilePlainPath } from './plain-path.ts';

const paths = [
  'a',
  'a.b',
  'body.paging.next.after',
  '`retry-after`',
  'headers.`x-next page`',
  ' a . b ',
  'a.`b`.c',
  'constructor.name',
  '__proto__.x',
  'a.length',
  'ends_1.in_x',
];
const inputs: readonly unknown[] = [
  {},
  null,
  undefined,
  5,
  'text',
  true,
  { a: null },
  { a: 'abc' },
  { a: 0 },
  { a: '' },
  { a: false },
  { a: [] },
  { a: [5] },
  { a: [[1]] },
  { a: { b: null } },
  { a: { b: [] } },
  { a: { b: [7] } },
  { a: { b: { c: [1, 2] } } },
  { a: { b: 1 }, 'retry-after': '3', headers: { 'x-next page': 'q' } },
  { body: { paging: { next: { after: 'NTI1' } } } },
  { body: { paging: { next: 'x' } } },
  { ends_1: { in_x: { y: 1 } } },
  [],
  [{ a: 1 }, { a: 2 }],
  { a: [{ b: 1 }, { b: 2 }] },
  { body: { paging: [{ next: { after: 1 } }] } },
];

test.each(paths)('the path %s gives what JSONata gives, or leaves an array to it', async (path) => {
  const compiled = compilePlainPath(path);
  if (compiled === null) throw new Error(`${path} did not compile`);
  const reference = jsonata(path);
  for (const input of inputs) {
    const actual = compiled(input);
    if (actual === arrayOnPath) continue;
    expect(actual).toEqual(await reference.evaluate(input));
  }
});

test('leaves a path through an array to JSONata', () => {
  expect(compilePlainPath('a.b')?.({ a: [{ b: 1 }] })).toBe(arrayOnPath);
  expect(compilePlainPath('a')?.([{ a: 1 }])).toBe(arrayOnPath);
});

test.each([
  '',
  'a.',
  '.a',
  'a..b',
  'a b',
  'a[0]',
  'a.b + 1',
  '$x',
  '$.a',
  'a-b',
  '"a"',
  'true',
  'null',
  'a.and',
  'a.*',
  'a.b()',
  '1',
  'a /* x */',
  '{"a": 1}',
  '``',
])('does not take %j for a plain path', (expression) => {
  expect(compilePlainPath(expression)).toBeNull();
});
