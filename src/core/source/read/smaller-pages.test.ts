import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../errors.ts';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { HttpClient } from '../../model/http.ts';
import {
  type Api,
  type ApiReply,
  type ApiRequest,
  classified,
  idsOf,
  inQuery,
  numberOf,
  pagesOf,
  readUntilFailure,
  rows,
  sourceOf,
  startApi,
} from '../source-fixture.ts';
import { readPages } from './read-pages.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const { signal } = new AbortController();
const ids = rows.map(({ id }) => id);
const shrink = { when: { status: [500] }, min: 1 };

/** An API that fails at pages with more than `most(offset)` items. */
const failingAbove =
  (most: (offset: number) => number, offsetOf: (request: ApiRequest, limit: number) => number) =>
  (request: ApiRequest): ApiReply => {
    const limit = numberOf(request, 'limit', 0);
    const offset = offsetOf(request, limit);
    if (limit > most(offset)) return { status: 500 };
    const data = rows.slice(offset, offset + limit);
    const next = offset + limit < rows.length ? `t${offset + limit}` : null;
    return { body: { data, next, total: rows.length, pages: Math.ceil(rows.length / limit) } };
  };
const byOffset = (request: ApiRequest) => numberOf(request, 'offset', 0);
const byPage = (request: ApiRequest, limit: number) => (numberOf(request, 'page', 1) - 1) * limit;
const byToken = (request: ApiRequest) => Number((request.url.searchParams.get('cursor') ?? 't0').slice(1));
const byKey = (request: ApiRequest) => numberOf(request, 'after', 0);

const sourceAt = (api: Pick<Api, 'origin'>, pagination: Readonly<Record<string, unknown>>) => {
  const request = { path: '/items', query: { limit: '{{ page.size }}' } };
  return sourceOf({ api, evaluator, resource: { request, response: { records: 'data' }, pagination } });
};

const kinds = [
  ['offset', { kind: 'offset', size: 4, inject: inQuery('offset'), shrink }, byOffset],
  ['a counted offset', { kind: 'offset', size: 4, inject: inQuery('offset'), total: 'body.total', shrink }, byOffset],
  ['offset by size', { kind: 'offset', size: 4, step: 'size', inject: inQuery('offset'), shrink }, byOffset],
  ['page', { kind: 'page', size: 4, inject: inQuery('page'), shrink }, byPage],
  ['a counted page', { kind: 'page', size: 4, inject: inQuery('page'), totalPages: 'body.pages', shrink }, byPage],
  ['cursor', { kind: 'cursor', size: 4, next: 'body.next', inject: inQuery('cursor'), shrink }, byToken],
  ['keyset', { kind: 'keyset', size: 4, field: 'id', inject: inQuery('after'), shrink }, byKey],
] as const;

describe('pages at which the API fails become smaller', () => {
  test.each(kinds)('and every record is read exactly once: %s', async (_name, pagination, offsetOf) => {
    await using api = await startApi(failingAbove((offset) => (offset < 4 ? 4 : 2), offsetOf));
    const pages = await pagesOf(readPages(sourceAt(api, pagination), { position: null, signal }));
    expect(idsOf(pages).flat()).toEqual(ids);
    expect(idsOf(pages).slice(0, 4)).toEqual([
      [1, 2, 3, 4],
      [5, 6],
      [7, 8],
      [9, 10],
    ]);
    expect(pages.flatMap(({ notes }) => notes)).toEqual(['page_shrunk']);
  });

  test.each(kinds)('and a stored position continues with the smaller size: %s', async (_name, pagination, offsetOf) => {
    await using api = await startApi(failingAbove((offset) => (offset < 4 ? 4 : 1), offsetOf));
    const source = sourceAt(api, pagination);
    const [, second] = await pagesOf(readPages(source, { position: null, signal }));
    const asked = api.requests.length;
    const rest = await pagesOf(readPages(source, { position: second?.positionAfter ?? null, signal }));
    expect(idsOf(rest).flat()).toEqual(ids.slice(5));
    const sizes = api.requests.slice(asked).map((request) => numberOf(request, 'limit', 0));
    expect(new Set(sizes)).toEqual(new Set([1]));
  });

  test('down to the smallest size, at which the error rules decide', async () => {
    await using api = await startApi(() => ({ status: 500 }));
    const pagination = { ...kinds[0][1], size: 9, shrink: { when: { status: [500] }, min: 2 } };
    const { error } = await readUntilFailure(sourceAt(api, pagination));
    expect(api.requests.map((request) => numberOf(request, 'limit', 0))).toEqual([9, 4, 2]);
    expect(error).toMatchObject({ message: 'The client would retry' });
  });

  test('also where no response comes in time', async () => {
    await using api = await startApi(failingAbove(() => 9, byOffset));
    const client: HttpClient = {
      send: async (request, options) => {
        const limit = Number(request.url.searchParams.get('limit'));
        if (limit > 2) {
          const verdict = await options.classify?.({ status: null, failure: 'timeout' }, request);
          throw verdict && 'error' in verdict ? verdict.error : new AppError('internal', 'no verdict');
        }
        const response = await fetch(request.url);
        const body = new Uint8Array(await response.arrayBuffer());
        return await classified(
          { status: response.status, headers: {}, body, url: request.url },
          request,
          options.classify,
        );
      },
      logSaved: async () => {},
      logBlocked: async () => {},
      [Symbol.asyncDispose]: async () => {},
    };
    const pagination = { ...kinds[0][1], shrink: { when: { status: ['timeout'] } } };
    const source = { ...sourceAt(api, pagination), client };
    expect(idsOf(await pagesOf(readPages(source, { position: null, signal }))).flat()).toEqual(ids);
  });

  test('and stay small in the windows that follow', async () => {
    await using api = await startApi(
      failingAbove(
        () => 2,
        () => 0,
      ),
    );
    const resource = {
      request: { path: '/items', query: { limit: '{{ page.size }}', to: '{{ window.to }}' } },
      response: { records: 'data' },
      pagination: { ...kinds[0][1], stopWhen: 'true' },
      incremental: {
        kind: 'cursor',
        cursor: { field: 'updated_at', type: 'datetime' },
        order: 'none',
        initial: '2025-12-30T00:00:00Z',
        window: { size: 'P1D' },
      },
    };
    await pagesOf(readPages(sourceOf({ api, evaluator, resource }), { position: null, signal }));
    expect(api.requests.map((request) => numberOf(request, 'limit', 0))).toEqual([4, 2, 2]);
  });

  test('only for the responses that the spec names', async () => {
    await using api = await startApi(() => ({ status: 503 }));
    const { error } = await readUntilFailure(sourceAt(api, kinds[0][1]));
    expect(api.requests).toHaveLength(1);
    expect(error).toMatchObject({ message: 'The client would retry' });
  });

  test('by what a body says too', async () => {
    const tooLarge = { status: 400, body: { code: 'TOO_LARGE' } };
    const api = await startApi((request) =>
      numberOf(request, 'limit', 0) > 2 ? tooLarge : failingAbove(() => 2, byOffset)(request),
    );
    await using _api = api;
    const pagination = { ...kinds[0][1], shrink: { when: { status: [400], expr: 'body.code = "TOO_LARGE"' } } };
    const pages = await pagesOf(readPages(sourceAt(api, pagination), { position: null, signal }));
    expect(idsOf(pages).flat()).toEqual(ids);
  });
});
