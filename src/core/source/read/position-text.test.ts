import { expect, test } from 'vitest';
import { positionText } from './position-text.ts';

const token = (text: string) => positionText(text, 'The page token', 'pagination.next');

test('a text becomes part of a position as it is', () => {
  expect(token('a'.repeat(65_536))).toHaveLength(65_536);
});

test.each([
  ['is too long', 'a'.repeat(65_537), 'has more than 65536 characters'],
  ['no database can hold', 'a\0', 'NUL'],
])('a text that %s ends the read, and the message says where the spec names it', (_, text, why) => {
  expect(() => token(text)).toThrow(why);
  expect(() => token(text)).toThrow('pagination.next');
});
