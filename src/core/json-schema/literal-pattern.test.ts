import { expect, test } from 'vitest';
import { literalTest } from './literal-pattern.ts';

const texts = [
  '',
  '@',
  'a@b',
  'ext-',
  'ext-1',
  'next-1',
  'a.pdf',
  'a.pdf ',
  'apdf',
  'ä/ö',
  '\n',
  'a\nb',
  '^',
  '$',
  'a$',
  '\\',
  '😀',
  '\ud83d',
  '\ude00',
  'a-b',
  '{',
];

test.each([
  '',
  '^',
  '$',
  '^$',
  '@',
  '^@',
  '@$',
  '^@$',
  '^ext-',
  '\\.pdf$',
  '\\.',
  'ä/ö',
  '\\/',
  '\n',
  '\n$',
  '^\\^$',
  '\\$',
  '^\\\\$',
  'a-b',
  '\\{',
])('the literal %j agrees with the native engine', (pattern) => {
  const literal = literalTest(pattern);
  for (const text of texts) expect([text, literal?.(text)]).toEqual([text, new RegExp(pattern, 'u').test(text)]);
});

test.each([
  '.',
  'a+',
  'a|b',
  '[a]',
  '(a)',
  'a{2}',
  '{',
  ']',
  '^^a',
  'a$$',
  'a^',
  '$a',
  '\\d',
  '\\n',
  '\\-',
  '\\u0041',
  '\\',
  '\\\\\\',
  '😀',
  '\ud83d',
  'a\ude00',
  'a'.repeat(101),
])('leaves %j to the automaton', (pattern) => {
  expect(literalTest(pattern)).toBeNull();
});
