import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { idsOf, inQuery, numberOf, pagesOf, sourceOf, startApi } from '../source-fixture.ts';
import { readPages } from './read-pages.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const { signal } = new AbortController();
const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();

const newestFirst = {
  response: { records: 'data' },
  pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('page') },
  incremental: {
    ...{ kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'desc', settle: 'PT0S' },
    clientFilter: true,
  },
};

/** Reads a list by pages of two from the fourth of January on; the id of each record is its day, or 0 for one without. */
async function readDays(days: readonly number[]) {
  await using api = await startApi((request) => {
    const page = numberOf(request, 'page', 1);
    const data = days.slice(page * 2 - 2, page * 2).map((id) => ({ id, ...(id > 0 && { at: day(id) }) }));
    return { body: { data, next: page * 2 < days.length ? page + 1 : null } };
  });
  const source = sourceOf({ api, evaluator, resource: newestFirst }, { watermark: day(4) });
  const pages = await pagesOf(readPages(source, { position: null, signal }));
  const notes = pages.flatMap((page) => page.notes.filter((note) => note === 'order_broken'));
  return { ids: idsOf(pages).flat(), requests: api.requests.length, watermark: pages.at(-1)?.watermarkAfter, notes };
}

describe('newest first, where the API cannot filter', () => {
  test('a read ends at the page most of which is below the watermark', async () => {
    const days = [9, 8, 7, 6, 5, 3, 2, 1];
    expect(await readDays([9, ...days])).toMatchObject({ ids: [9, 9, 8, 7, 6, 5], requests: 4, notes: [] });
    expect(await readDays(days)).toEqual({ ids: [9, 8, 7, 6, 5], requests: 4, watermark: day(9), notes: [] });
  });

  test('an old record at the end of a page does not end the read', async () => {
    const { ids, watermark } = await readDays([9, 2, 7, 6, 5, 3, 2, 1]);
    expect({ ids, watermark }).toEqual({ ids: [9, 7, 6, 5], watermark: day(9) });
  });

  test('a read without anything new ends after its first page', async () => {
    expect(await readDays([3, 2, 1])).toEqual({ ids: [], requests: 1, watermark: day(4), notes: [] });
  });

  test('an old record that the API shows first does not end the read', async () => {
    const { ids, watermark } = await readDays([1, 9, 8, 7, 6, 5, 3, 2]);
    expect({ ids, watermark }).toEqual({ ids: [9, 8, 7, 6, 5], watermark: day(9) });
  });

  test.each([
    ['above one below the watermark', [9, 8, 2, 3, 7, 1]],
    ['above the last of the page before', [6, 5, 7, 3, 8, 2]],
    ['within a page whose records are all below the watermark', [2, 3, 9, 8]],
  ])('a record %s shows that the list has another order: it is read to its end', async (_, days) => {
    const read = await readDays(days);
    expect(read.ids).toEqual(days.filter((no) => no >= 4));
    expect(read).toMatchObject({ watermark: day(Math.max(...days)), notes: ['order_broken'] });
  });

  test('records without a time say nothing of the order', async () => {
    expect(await readDays([9, 0, 8, 3, 2])).toEqual({ ids: [9, 0, 8], requests: 3, watermark: day(9), notes: [] });
  });
});
