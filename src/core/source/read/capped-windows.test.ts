import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { Source } from '../source.ts';
import {
  type ApiReply,
  type ApiRequest,
  idsOf,
  inQuery,
  numberOf,
  readUntilFailure,
  rows,
  sourceOf,
  startApi,
} from '../source-fixture.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

type Parts = Readonly<Record<string, unknown>>;

/** One by one: a read asks for no page that it does not need. */
const http = { rateLimit: { maxConcurrent: 1 } };

async function read(response: (request: ApiRequest) => ApiReply, resource: Parts, overrides: Partial<Source> = {}) {
  await using api = await startApi(response);
  const { pages, error } = await readUntilFailure(sourceOf({ api, evaluator, resource, http }, overrides));
  const gaps = [...new Set(pages.flatMap((page) => page.gaps))];
  return { pages, error, gaps, ids: idsOf(pages).flat(), asked: api.requests.map(({ url }) => url.search) };
}

describe('a window whose count is the cap of the API', () => {
  const windowed = (onReached: string, cap = 5): Parts => ({
    request: { path: '/items', query: { from: '{{ window.from }}', to: '{{ window.to }}' } },
    response: { records: 'data', total: 'total' },
    incremental: {
      ...{ kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'none', initial: '2025-01-01' },
      ...{ window: { size: 'P10D' }, resultCap: { records: cap, onReached } },
    },
  });
  const capped =
    (most: number, cap = most) =>
    ({ url: { searchParams } }: ApiRequest): ApiReply => {
      const [from, to] = [searchParams.get('from') ?? '', searchParams.get('to') ?? ''];
      const found = rows.filter((row) => row.updated_at >= from && row.updated_at < to);
      return { body: { total: Math.min(found.length, cap), data: found.slice(0, most) } };
    };
  const now = () => new Date('2025-01-11T00:00:00Z');

  test('is split, as it may have more', async () => {
    const { ids, gaps } = await read(capped(5), windowed('split'), { now });
    expect(ids).toEqual(rows.map(({ id }) => id));
    expect(gaps).toEqual([]);
  });

  test('is split where it gives fewer than its cap', async () => {
    const { ids } = await read(capped(3, 5), windowed('split'), { now });
    expect(new Set(ids)).toEqual(new Set(rows.map(({ id }) => id)));
  });

  test('is not split where it gives fewer than a count below the cap, and claims nothing', async () => {
    const { pages, gaps } = await read(capped(3, 10_000), windowed('split', 100), { now });
    expect(gaps).toEqual(['count_differs']);
    expect(pages.at(-1)?.watermarkAfter).toBeNull();
  });

  test('fails where it must not be split', async () => {
    const { pages, error } = await read(capped(5), windowed('fail'), { now });
    expect(pages).toEqual([]);
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('as many as') });
  });

  test('fails where it cannot be split further, whatever the API says of any window', async () => {
    const { pages, error, asked } = await read(() => ({ body: { total: 5, data: [] } }), windowed('split'), { now });
    expect(pages).toEqual([]);
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('split further') });
    expect(asked.length).toBeLessThan(30);
  });

  test('is split where only its last page says so, and pages overlap', async () => {
    const later = (request: ApiRequest): ApiReply => {
      const offset = numberOf(request, 'offset', 0);
      const { total, data } = capped(5)(request).body as { readonly total: number; readonly data: unknown[] };
      return { body: { total: offset === 0 ? Math.min(total, 4) : total, data: data.slice(offset, offset + 3) } };
    };
    const pagination = { kind: 'offset', size: 3, overlap: 1, stable: true, inject: inQuery('offset') };
    const { ids, error } = await read(later, { ...windowed('split'), pagination }, { now });
    expect(error).toBeNull();
    expect(new Set(ids)).toEqual(new Set(rows.map(({ id }) => id)));
  });

  test('may be read where the newest records come first and it ends below them', async () => {
    const newest = ({ url }: ApiRequest): ApiReply => {
      const page = Number(url.searchParams.get('page'));
      return { body: { total: 6, data: rows.toReversed().slice((page - 1) * 3, Math.min(page * 3, 6)) } };
    };
    const { incremental } = windowed('fail', 6);
    const { ids, error } = await read(
      newest,
      {
        ...windowed('fail', 6),
        pagination: { kind: 'page', size: 3, inject: inQuery('page') },
        incremental: { ...(incremental as object), order: 'desc', clientFilter: true },
      },
      { now, watermark: rows[6]?.updated_at ?? null },
    );
    expect(error).toBeNull();
    expect(ids).toEqual([10, 9, 8, 7]);
  });
});
