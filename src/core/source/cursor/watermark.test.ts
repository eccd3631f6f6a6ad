import { describe, expect, test } from 'vitest';
import { advanceWatermark, continuesAscending, greatestCursor } from './watermark.ts';

const reached = { maxSeen: null, windowEnd: null, cap: null };

describe('the watermark is a claim', () => {
  test('it is the greatest value seen', () => {
    expect(advanceWatermark(5n, { ...reached, maxSeen: 9n })).toBe(9n);
  });

  test('a read that saw nothing keeps it', () => {
    expect(advanceWatermark(5n, { ...reached, cap: 100n })).toBe(5n);
    expect(advanceWatermark(null, { ...reached, cap: 100n })).toBeNull();
  });

  test('a record of the future cannot pass run start less settle', () => {
    expect(advanceWatermark(5n, { ...reached, maxSeen: 1000n, cap: 70n })).toBe(70n);
  });

  test('it never goes back, neither for lower values nor for a lower cap', () => {
    expect(advanceWatermark(50n, { ...reached, maxSeen: 9n })).toBe(50n);
    expect(advanceWatermark(50n, { ...reached, maxSeen: 60n, cap: 40n })).toBe(50n);
  });

  test('a window that was read completely carries it to its end, still capped', () => {
    expect(advanceWatermark(5n, { maxSeen: 9n, windowEnd: 30n, cap: 100n })).toBe(30n);
    expect(advanceWatermark(5n, { maxSeen: null, windowEnd: 30n, cap: 20n })).toBe(20n);
  });
});

describe('an ascending order is verified', () => {
  test.each([
    ['equal values rise', [1n, 2n, 2n], 1n, true],
    ['a value below the one before it does not', [1n, 3n, 2n], null, false],
    ['a page that begins below the last page does not', [4n, 5n], 5n, false],
    ['an empty page rises', [], 5n, true],
    ['a page may begin with the last value', [5n], 5n, true],
  ])('%s', (_title, values, last, rises) => {
    expect(continuesAscending(values, last, { overlap: false })).toBe(rises);
  });

  test('a page that repeats the last records on purpose only has to reach as far', () => {
    expect(continuesAscending([4n, 5n, 6n], 5n, { overlap: true })).toBe(true);
    expect(continuesAscending([3n, 4n], 5n, { overlap: true })).toBe(false);
  });

  test('the greatest of a page is compared by value', () => {
    expect(greatestCursor([9n, 10n, 2n])).toBe(10n);
    expect(greatestCursor([])).toBeNull();
  });
});
