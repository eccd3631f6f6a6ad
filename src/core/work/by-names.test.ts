import { expect, test, vi } from 'vitest';
import { byNames } from './by-names.ts';

const objectOf = (names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, 0]));
const joined = (names: readonly string[]): string => names.join();

test('asks once for each list of names, in whatever object they come', () => {
  const classify = vi.fn<typeof joined>(joined);
  const verdict = byNames(classify);
  const lists = [[], ['a'], ['a', 'b'], ['b', 'a'], ['a', 'c'], ['b']];
  for (const names of [...lists, ...lists]) expect(verdict(objectOf(names))).toBe(joined(names));
  expect(classify).toHaveBeenCalledTimes(lists.length);
});

test('keeps a few lists that begin alike, the latest, and none of 101 names', () => {
  const classify = vi.fn<typeof joined>(joined);
  const verdict = byNames(classify);
  const many = Array.from({ length: 101 }, (_, index) => `n${index}`);
  for (const end of 'bcdefghijjb') verdict(objectOf(['a', end]));
  expect(classify).toHaveBeenCalledTimes(10);
  for (const names of [many, many]) expect(verdict(objectOf(names))).toBe(joined(names));
  expect(classify).toHaveBeenCalledTimes(12);
});

test('keeps no list whose names have more than 4,000 characters together', () => {
  const classify = vi.fn<typeof joined>(joined);
  const verdict = byNames(classify);
  const [fitting, long] = [
    ['a', 'b'.repeat(3999)],
    ['c', 'd'.repeat(4000)],
  ];
  for (const names of [fitting, long, fitting, long]) expect(verdict(objectOf(names))).toBe(joined(names));
  expect(classify.mock.calls).toEqual([[fitting], [long], [long]]);
});

test('begins anew once 500 lists are kept, and is right all the time', () => {
  const verdict = byNames(joined);
  for (let index = 0; index < 1200; index += 1) expect(verdict(objectOf([`n${index}`, 'x']))).toBe(`n${index},x`);
});
