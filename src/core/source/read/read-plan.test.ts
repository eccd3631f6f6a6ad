import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { Source } from '../source.ts';
import { idsOf, inQuery, numberOf, pagesOf, rows, sourceOf, startApi } from '../source-fixture.ts';
import { readPages } from './read-pages.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const { signal } = new AbortController();

describe('incremental reads', () => {
  const incremental = { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' };

  test('the boundary is read again, inclusively', async () => {
    await using api = await startApi((request) => {
      const since = request.url.searchParams.get('since') ?? '';
      return { body: rows.filter((row) => row.updated_at >= since) };
    });
    const request = { path: '/items', query: { since: '{{ window.from }}', until: '{{ window.to }}' } };
    const source = sourceOf({ api, evaluator, resource: { request, incremental } });
    const [first] = await pagesOf(readPages(source, { position: null, signal }));
    expect(first?.watermarkAfter).toBe('2025-01-10T00:00:00.000Z');
    expect(api.requests[0]?.url.searchParams.has('since')).toBe(false);
    const later: Source = { ...source, watermark: first?.watermarkAfter ?? null };
    const [second] = await pagesOf(readPages(later, { position: null, signal }));
    expect(second?.records).toEqual([rows.at(-1)]);
    expect(api.requests[1]?.url.search).toBe('?since=2025-01-10T00%3A00%3A00.000Z&until=2026-01-01T00%3A00%3A00.000Z');
  });

  test('the first read begins at initial, given as a template, a number or a time ago', async () => {
    await using api = await startApi(() => ({ body: [] }));
    const read = async (initial: unknown, type: string) => {
      const cursor = { field: 'at', type };
      const resource = {
        request: { path: '/items', query: { since: '{{ window.from }}' } },
        incremental: { kind: 'cursor', cursor, order: 'asc', initial },
      };
      await pagesOf(
        readPages(sourceOf({ api, evaluator, resource }, { params: { start: '2024-05-01' } }), {
          position: null,
          signal,
        }),
      );
      return api.requests.at(-1)?.url.searchParams.get('since');
    };
    expect(await read('{{ params.start }}', 'epoch_s')).toBe('1714521600');
    expect(await read('now-P1D', 'datetime')).toBe('2025-12-31T00:00:00.000Z');
    expect(await read(17, 'integer')).toBe('17');
    await expect(read('{{ params.start }}', 'integer')).rejects.toMatchObject({ code: 'spec_invalid' });
  });

  test('windows are read one after the other and every page can be resumed', async () => {
    await using api = await startApi((request) => {
      const { searchParams } = request.url;
      const [from, to] = [searchParams.get('from') ?? '', searchParams.get('to') ?? ''];
      const found = rows.filter((row) => row.updated_at >= from && row.updated_at < to);
      const at = numberOf(request, 'offset', 0);
      return { body: found.slice(at, at + 2) };
    });
    const resource = {
      request: { path: '/items', query: { from: '{{ window.from }}', to: '{{ window.to }}' } },
      pagination: { kind: 'offset', stable: true, size: 2, inject: inQuery('offset') },
      incremental: { ...incremental, initial: '2025-01-01', window: { size: 'P5D' } },
    };
    const now = () => new Date('2025-01-12T00:00:00Z');
    const source = sourceOf({ api, evaluator, resource }, { now });
    const pages = await pagesOf(readPages(source, { position: null, signal }));
    expect(idsOf(pages)).toEqual([[1, 2], [3, 4], [5], [6, 7], [8, 9], [10], []]);
    expect(pages.at(-1)?.watermarkAfter).toBe('2025-01-11T23:59:30.000Z');
    for (const [index, page] of pages.slice(0, -1).entries()) {
      const rest = await pagesOf(readPages(source, { position: page.positionAfter, signal }));
      expect(idsOf(rest)).toEqual(idsOf(pages.slice(index + 1)));
      expect(rest.map((later) => later.watermarkAfter)).toEqual(
        pages.slice(index + 1).map((later) => later.watermarkAfter),
      );
    }
  });

  test('a window with more records than the API gives is split before it is read', async () => {
    await using api = await startApi((request) => {
      const { searchParams } = request.url;
      const [from, to] = [searchParams.get('from') ?? '', searchParams.get('to') ?? ''];
      const found = rows.filter((row) => row.updated_at >= from && row.updated_at < to);
      return { body: { total: found.length, data: found.slice(0, 6) } };
    });
    const resource = {
      request: { path: '/items', query: { from: '{{ window.from }}', to: '{{ window.to }}' } },
      response: { records: 'data', total: 'total' },
      incremental: { ...incremental, initial: '2025-01-01', window: { size: 'P10D' }, resultCap: { records: 6 } },
    };
    const now = () => new Date('2025-01-11T00:00:00Z');
    const pages = await pagesOf(readPages(sourceOf({ api, evaluator, resource }, { now }), { position: null, signal }));
    expect(idsOf(pages)).toEqual([
      [1, 2, 3, 4, 5],
      [6, 7, 8, 9, 10],
    ]);
    expect(pages[0]?.notes).toEqual(['window_split']);
  });

  test('a newest-first API that cannot filter is left once it comes below the watermark', async () => {
    await using api = await startApi((request) => {
      const at = (numberOf(request, 'page', 0) - 1) * 4;
      return { body: rows.toReversed().slice(at, at + 4) };
    });
    const resource = {
      pagination: { kind: 'page', size: 4, inject: inQuery('page') },
      incremental: { ...incremental, order: 'desc', clientFilter: true },
    };
    const source = sourceOf({ api, evaluator, resource }, { watermark: '2025-01-06T00:00:00.000Z' });
    const pages = await pagesOf(readPages(source, { position: null, signal }));
    expect(idsOf(pages)).toEqual([[10, 9, 8, 7], [6]]);
    expect(pages.map((page) => page.watermarkAfter)).toEqual(['2025-01-06T00:00:00.000Z', '2025-01-10T00:00:00.000Z']);
  });

  test('an API of whole days that cannot filter keeps the records of the day of its watermark', async () => {
    const days = ['2025-01-04', '2025-01-05', '2025-01-06'].map((day, id) => ({ id, day }));
    await using api = await startApi(() => ({ body: days }));
    const cursor = { field: 'day', type: 'date' };
    const resource = { incremental: { kind: 'cursor', cursor, order: 'none', clientFilter: true } };
    // As a record dated in the future leaves it: run start less settle.
    const source = sourceOf({ api, evaluator, resource }, { watermark: '2025-01-05T11:59:30.000Z' });
    expect(idsOf(await pagesOf(readPages(source, { position: null, signal })))).toEqual([[1, 2]]);
  });

  test('an opaque token is kept for the next run only at the end, and given up when it has expired', async () => {
    await using api = await startApi((request) => {
      const { searchParams } = request.url;
      if (searchParams.get('sync') === 'old') return { status: 410 };
      const last = searchParams.has('page');
      return { body: { data: [{ id: last ? 2 : 1 }], next: last ? null : 'p2', sync: last ? 's9' : 's8' } };
    });
    const resource = {
      request: { path: '/items', query: { sync: '{{ watermark }}' } },
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('page') },
      incremental: { kind: 'token', next: 'body.sync' },
    };
    const source = sourceOf({ api, evaluator, resource }, { watermark: 'old' });
    const pages = await pagesOf(readPages(source, { position: null, signal }));
    expect(idsOf(pages)).toEqual([[1], [2]]);
    expect(pages.map((page) => page.watermarkAfter)).toEqual(['old', 's9']);
    expect(pages[0]?.notes).toEqual(['token_expired']);
  });

  test('an expired page token begins the window again', async () => {
    let expired = false;
    await using api = await startApi((request) => {
      if (request.url.searchParams.get('after') !== 't1') return { body: { data: [{ id: 1 }], next: 't1' } };
      if (expired) return { body: { data: [{ id: 2 }] } };
      expired = true;
      return { status: 410 };
    });
    const resource = {
      response: { records: 'data' },
      pagination: {
        kind: 'cursor',
        next: 'body.next',
        inject: inQuery('after'),
        onExpired: { status: [410], action: 'restart_window' },
      },
    };
    const pages = await pagesOf(readPages(sourceOf({ api, evaluator, resource }), { position: null, signal }));
    expect(idsOf(pages)).toEqual([[1], [1], [2]]);
    expect(pages[1]?.notes).toEqual(['window_restarted']);
  });
});
