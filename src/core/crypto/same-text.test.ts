import { expect, test } from 'vitest';
import { isSameText } from './same-text.ts';

test.each([
  ['secret', true],
  ['Secret', false],
  ['secret ', false],
  ['', false],
])('%j is the secret: %s', (given, same) => {
  expect(isSameText(given, 'secret')).toBe(same);
});
