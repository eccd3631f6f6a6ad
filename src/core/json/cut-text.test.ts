import { expect, test } from 'vitest';
import { cutText } from './cut-text.ts';

test('a cut never splits a character', () => {
  expect(['ab😀c', 'a😀bc', 'abc', 'ab'].map((text) => cutText(text, 3))).toEqual(['ab', 'a😀', 'abc', 'ab']);
});
