import { expect, test } from 'vitest';
import { isSurelyLongerThan } from './json-length.ts';

test.each([
  [{ a: [1, 'x', null, { b: true }], c: 'long text' }],
  [[]],
  [{}],
  ['text'],
  [[[], {}, [[]], 0]],
  [{ a: undefined, b: 1 }],
])('%j is never longer than its text', (value) => {
  const { length } = JSON.stringify(value);
  expect(isSurelyLongerThan(value, length + 1)).toBe(false);
  expect(isSurelyLongerThan(value, Math.floor(length / 3))).toBe(true);
});

test('little of a large value is looked at', () => {
  const seen: string[] = [];
  const value = new Proxy(
    { a: 'x'.repeat(100), b: 'x'.repeat(100), c: 1 },
    {
      get: (target, name) => {
        seen.push(String(name));
        return Reflect.get(target, name);
      },
    },
  );
  const list = Array.from({ length: 1000 }, () => [value]);
  expect(isSurelyLongerThan(list, 900)).toBe(true);
  expect(isSurelyLongerThan([list], 3000)).toBe(true);
  expect(seen.length).toBeLessThan(100);
});
