import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../errors.ts';
import { ThrottledError } from '../../model/throttled.ts';
import { createHeldClient } from '../request/held-client-fixture.ts';
import { idsOf, pagesOf } from '../source-fixture.ts';
import { byPage, counted, fast, many, pageFrom, recordsOf, useHeldSource } from './pages-ahead-fixture.ts';
import { type PageRead, readPages } from './read-pages.ts';

const { signal } = new AbortController();
const heldSource = useHeldSource();

describe('pages requested ahead', () => {
  test('begin behind the first page, all at once where the API counts its pages', async () => {
    const api = createHeldClient(
      'page',
      pageFrom(() => many.slice(0, 50)),
    );
    const reading = pagesOf(readPages(heldSource(api, { resource: counted }), { position: null, signal }));
    const expectOpen = async (...pages: readonly number[]) => {
      await expect.poll(() => api.open()).toEqual(pages.map(String));
    };
    await expectOpen(1);
    api.release('1');
    await expectOpen(2, 3, 4, 5, 6, 7, 8, 9);
    api.release('3');
    await expectOpen(2, 4, 5, 6, 7, 8, 9);
    api.release('2');
    // Page 3 was there already; the tenth is the last.
    await expectOpen(4, 5, 6, 7, 8, 9, 10);
    for (const page of ['4', '5', '6', '7', '8', '9', '10']) api.release(page);
    expect(idsOf(await reading).flat()).toEqual(many.slice(0, 50).map(({ id }) => id));
    expect(api.asked).toHaveLength(10);
  });

  test('become more with each second page where it does not, and are given up at the end', async () => {
    const api = createHeldClient(
      'page',
      pageFrom(() => many),
    );
    const reading = pagesOf(readPages(heldSource(api, { resource: byPage }), { position: null, signal }));
    const expectOpen = async (pages: readonly number[]) => {
      await expect.poll(() => api.open()).toEqual(pages.map(String));
    };
    await expectOpen([1]);
    for (let page = 1; page <= 41; page += 1) {
      api.release(String(page));
      const next = Array.from({ length: Math.min(8, 1 + Math.floor(page / 2)) }, (_, no) => page + 1 + no);
      await expectOpen(page === 41 ? [] : next);
    }
    expect(idsOf(await reading).flat()).toEqual(many.map(({ id }) => id));
    expect(api.aborted).toEqual(['42', '43', '44', '45', '46', '47', '48']);
  });

  test('fail in their turn, behind all pages before them', async () => {
    const api = createHeldClient(
      'page',
      pageFrom(() => many),
    );
    const pages: PageRead[] = [];
    const reading = (async () => {
      for await (const page of readPages(heldSource(api, { resource: counted }), { position: null, signal }))
        pages.push(page);
    })();
    const failure = reading.catch((error: unknown) => error);
    for (const page of ['1', '2']) {
      await expect.poll(() => api.open()).toContain(page);
      api.release(page);
    }
    await expect.poll(() => api.open()).toContain('10');
    api.release('4', new AppError('source_rejected', 'no such page'));
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    expect(idsOf(pages)).toHaveLength(2);
    api.release('3');
    expect(await failure).toMatchObject({ message: 'no such page' });
    expect(idsOf(pages)).toHaveLength(3);
    expect(api.open()).toEqual([]);
  });

  test('lose nothing when a record comes in at the head of the list while a later page comes first', async () => {
    const list = recordsOf(60).toReversed();
    const api = createHeldClient(
      'page',
      pageFrom(() => list),
    );
    const reading = pagesOf(readPages(heldSource(api, { resource: counted }), { position: null, signal }));
    const response = async (page: string) => {
      await expect.poll(() => api.open()).toContain(page);
      api.release(page);
    };
    for (const page of ['1', '2', '5', '4']) await response(page);
    list.unshift({ id: 61, at: '2025-02-01T00:00:00.000Z' });
    // From here on each page begins with the last record of the one before: page 4 would lack the last one of page 3.
    await response('3');
    for (const page of ['4', '5', '6', '7', '8', '9', '10', '11', '12', '13']) await response(page);
    const ids = idsOf(await reading).flat();
    expect(new Set(ids)).toEqual(new Set(recordsOf(60).map(({ id }) => id)));
    expect(api.asked.filter((page) => page === '4' || page === '5')).toEqual(['4', '5', '4', '5']);
  });

  test('wait as long as the API asks for, from when it asked', async () => {
    let clock = Date.parse('2026-01-01T00:00:00.000Z');
    const api = createHeldClient(
      'page',
      pageFrom(() => many),
    );
    const source = heldSource(api, { resource: counted }, { now: () => new Date(clock) });
    const reading = pagesOf(readPages(source, { position: null, signal }));
    const failure = reading.catch((error: unknown) => error);
    await expect.poll(() => api.open()).toEqual(['1']);
    api.release('1');
    await expect.poll(() => api.open()).toContain('9');
    api.release('3', new ThrottledError(60_000));
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    clock += 3000;
    api.release('2');
    expect(await failure).toMatchObject({ name: 'ThrottledError', waitMs: 57_000 });
    expect(api.asked.filter((page) => page === '3')).toHaveLength(1);
    expect(api.open()).toEqual([]);
  });

  test('are requested again when the wait is almost over at their turn', async () => {
    let clock = Date.parse('2026-01-01T00:00:00.000Z');
    const api = createHeldClient(
      'page',
      pageFrom(() => many.slice(0, 13)),
    );
    const source = heldSource(api, { resource: counted }, { now: () => new Date(clock) });
    const reading = pagesOf(readPages(source, { position: null, signal }));
    await expect.poll(() => api.open()).toEqual(['1']);
    api.release('1');
    await expect.poll(() => api.open()).toEqual(['2', '3']);
    api.release('3', new ThrottledError(12_000));
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    clock += 8000;
    api.release('2');
    await expect.poll(() => api.open()).toContain('3');
    api.release('3');
    expect(idsOf(await reading).flat()).toEqual(many.slice(0, 13).map(({ id }) => id));
  });

  test('are no more than the API says are left of its budget', async () => {
    const pageOf = pageFrom(() => many.slice(0, 30));
    const api = createHeldClient('page', (url) => {
      const left = url.searchParams.get('page') === '1' ? '3' : '0';
      return { ...pageOf(url), headers: { 'x-left': left } };
    });
    const headers = { remaining: 'X-Left', reset: 'X-Reset' };
    const http = { rateLimit: { ...fast, headers } };
    const reading = pagesOf(readPages(heldSource(api, { resource: counted, http }), { position: null, signal }));
    for (const open of [['1'], ['2', '3', '4'], ['3', '4'], ['4'], ['5'], ['6']]) {
      await expect.poll(() => api.open()).toEqual(open);
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
      expect(api.open()).toEqual(open);
      api.release(open[0] ?? '');
    }
    expect(idsOf(await reading).flat()).toEqual(many.slice(0, 30).map(({ id }) => id));
  });

  test('are given up when the consumer leaves, before the read has ended', async () => {
    const api = createHeldClient(
      'page',
      pageFrom(() => many),
    );
    const pages = readPages(heldSource(api, { resource: counted }), { position: null, signal });
    const first = pages.next();
    await expect.poll(() => api.open()).toEqual(['1']);
    api.release('1');
    await first;
    await expect.poll(() => api.open()).toHaveLength(8);
    await pages.return();
    expect(api.running()).toBe(0);
    expect(api.aborted).toEqual(['2', '3', '4', '5', '6', '7', '8', '9']);
  });
});
