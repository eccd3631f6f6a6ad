import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import {
  ascending,
  at,
  byOffset,
  byPage,
  type Change,
  listOf,
  type MovingRead,
  newestFirst,
  numbersOf,
  type Row,
  readMoving,
  toTheEnd,
  without,
} from './moving-list-fixture.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const read = (first: readonly Row[], change: Change, options: Omit<MovingRead, 'evaluator'>) =>
  readMoving(first, change, { ...options, evaluator });

/** A list that changes before the request with a number. */
const onceAt =
  (no: number, change: (list: readonly Row[]) => readonly Row[]): Change =>
  (list, request) =>
    request === no ? change(list) : list;

const reversed = (count: number) => listOf(count).toReversed();
const counted = { ...byPage, totalPages: '$ceil(body.total / 2)' };

describe('the end of a list that has moved', () => {
  test.each([404, 400, undefined])('is looked at where the page behind it has the status %s', async (statusBehind) => {
    const { ids, gaps } = await read(
      listOf(6),
      onceAt(3, (list) => without(list, 1)),
      {
        resource: { pagination: byPage },
        provesEnd: true,
        ...(statusBehind !== undefined && { statusBehind }),
      },
    );
    expect(ids).toEqual(new Set([1, 2, 3, 4, 5, 6]));
    expect(gaps).toEqual(statusBehind === 400 ? ['page_short'] : []);
  });

  test('is looked at where a newest-first read ends below its window', async () => {
    const { ids, pages } = await read(
      reversed(9),
      onceAt(2, (list) => without(list, 9)),
      {
        resource: { ...newestFirst, pagination: byPage },
        watermark: at(2),
      },
    );
    expect(ids).toEqual(new Set([9, 8, 7, 6, 5, 4, 3]));
    expect(pages.at(-1)?.watermarkAfter).toBe(at(7));
  });
});

test('the end of a page is where it was only if the items before it are, too: its last one may have come back', async () => {
  // The one before the last goes to the end, and then its page begins one later: its old place is the end once more.
  const change: Change = (list, request) => {
    if (request === 6) return toTheEnd(list, 10, at(500));
    return request === 11 ? without(list, 1) : list;
  };
  const { ids, pages } = await read(listOf(11), change, { resource: { ...ascending, pagination: byPage } });
  expect(ids.size).toBe(11);
  expect(pages.at(-1)?.watermarkAfter).toBe(at(500));
});

describe('a read that fails behind a page that its list has moved to', () => {
  const failing: Change = (list, request) => {
    if (request === 4) throw new Error('the API is down');
    return request === 2 ? without(list, 1) : list;
  };
  test.each([
    ['page numbers claim nothing before the end of the list', byPage, [1, 2, 4, 5, 6, 7], null],
    ['page numbers of a list that only grows claim', { ...byPage, stable: true }, [1, 2, 4, 5, 6, 7], at(6)],
    ['offsets claim, as each page follows the one before', byOffset, [1, 2, 3, 4], at(3)],
  ])('%s', async (_, pagination, ids, watermark) => {
    const { pages, ...found } = await read(listOf(10), failing, { resource: { ...ascending, pagination } });
    expect([...found.ids]).toEqual(ids);
    expect(pages.at(-1)?.watermarkAfter).toBe(watermark);
  });
});

describe('a read that went back', () => {
  test('compares the next page with the one before it, and not with the last one', async () => {
    const change: Change = (list, request) =>
      request === 3 ? without(list, 3) : request === 6 ? without(list, 4) : list;
    const { asked, gaps } = await read(listOf(6), change, { resource: { pagination: counted }, provesEnd: true });
    // Three pages, the ends of two of them, and the second one again, which is the last one now.
    expect(numbersOf(asked)).toEqual([1, 2, 3, 1, 2, 2, 1]);
    expect(gaps).toEqual([]);
  });

  test('knows the items before the one behind which it goes on: what came in before is found there', async () => {
    const change: Change = (list, request) => {
      if (request === 6) return without(list, 5);
      return request === 11 ? [...list.slice(-3), ...list.slice(0, -3)] : list;
    };
    const { asked, ids, gaps } = await read(listOf(14), change, { resource: { pagination: counted }, provesEnd: true });
    const numbers = numbersOf(asked);
    expect(numbers.slice(0, 12)).toEqual([1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 3, 1]);
    expect(ids.size).toBe(14);
    expect(gaps).toEqual([]);
  });

  test('takes no page that begins further back for one out of order', async () => {
    const { notes, ids, asked } = await read(
      reversed(20),
      onceAt(2, (list) => without(list, 20)),
      {
        resource: { ...newestFirst, pagination: byOffset },
        watermark: at(12),
      },
    );
    expect(notes).toEqual([]);
    expect(ids).toEqual(new Set([20, 19, 18, 17, 16, 15, 14, 13]));
    expect(asked.length).toBeLessThan(8);
  });

  test('does not count on where a page had items that were read before', async () => {
    const { gaps, pages, ids } = await read(
      listOf(12),
      onceAt(3, (list) => [{ id: 99, at: at(0) }, ...list]),
      {
        resource: { ...ascending, pagination: { ...byOffset, total: 'body.total' } },
      },
    );
    expect(ids.size).toBe(12);
    expect(gaps).toEqual([]);
    expect(pages.at(-1)?.watermarkAfter).toBe(at(11));
  });
});

describe('the last record of a page by offset, oldest change first', () => {
  test.each([
    ['lands where the next page begins', 3],
    ['lands behind that place', 2],
  ])('that changes and %s is not taken for the one that was there', async (_where, id) => {
    const { ids } = await read(
      listOf(4),
      onceAt(2, (list) => [id, 1].reduce((rows, one, no) => toTheEnd(rows, one, at(401 + no)), list)),
      { resource: { ...ascending, pagination: byOffset }, now: () => new Date(at(400)) },
    );
    expect(ids).toEqual(new Set([1, 2, 3, 4]));
  });
});
