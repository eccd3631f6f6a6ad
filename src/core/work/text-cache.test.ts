import { expect, it, vi } from 'vitest';
import { createTextCache } from './text-cache.ts';

const counting = (bounds: { readonly textsMax: number; readonly charactersMax: number }) => {
  const make = vi.fn<(text: string) => number | null>((text) => (text.startsWith('-') ? null : text.length));
  return { make, lengthOf: createTextCache(make, bounds) };
};

it('makes the value of a text once, also where it is null or of the empty text', () => {
  const { make, lengthOf } = counting({ textsMax: 3, charactersMax: 100 });
  for (const text of ['a', '-', '', 'a', '-', '']) expect(lengthOf(text)).toBe(text === '-' ? null : text.length);
  expect(make).toHaveBeenCalledTimes(3);
});

it('forgets the text that was used longest ago when there are too many', () => {
  const { make, lengthOf } = counting({ textsMax: 2, charactersMax: 100 });
  for (const text of ['a', 'b', 'a', 'c']) lengthOf(text);
  make.mockClear();
  for (const text of ['a', 'c', 'b']) lengthOf(text);
  expect(make.mock.calls).toEqual([['b']]);
});

it('keeps no more characters than it may, and forgets nothing for a text that is too long alone', () => {
  const { make, lengthOf } = counting({ textsMax: 100, charactersMax: 10 });
  for (const text of ['aaaa', 'bbbb', 'c'.repeat(11), 'aaaa', 'dddd']) lengthOf(text);
  make.mockClear();
  for (const text of ['aaaa', 'dddd', 'bbbb', 'c'.repeat(11)]) lengthOf(text);
  expect(make.mock.calls).toEqual([['bbbb'], ['c'.repeat(11)]]);
});

it('asks again where no value could be made', () => {
  const make = vi.fn<() => void>(() => {
    throw new Error('no value');
  });
  const failing = createTextCache(make, { textsMax: 2, charactersMax: 100 });
  expect(() => failing('a')).toThrow('no value');
  expect(() => failing('a')).toThrow('no value');
  expect(make).toHaveBeenCalledTimes(2);
});
