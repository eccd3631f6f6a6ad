import { expect, test } from 'vitest';
import { storableText } from './storable-text.ts';

test('a sound text is unchanged', () => {
  expect(storableText('back\\slash \\u0000 😀 \n')).toBe('back\\slash \\u0000 😀 \n');
});

test('what no database column holds stays visible', () => {
  expect(storableText('a\0b\ud800c\udc00😀')).toBe('a\\u0000b\\ud800c\\udc00😀');
});
