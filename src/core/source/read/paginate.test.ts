import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { ReadPosition } from '../../model/read-position.ts';
import {
  type ApiReply,
  type ApiRequest,
  idsOf,
  inQuery,
  numberOf,
  pagesOf,
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

/** A paging kind: what the spec says and how the API responds. */
interface Kind {
  readonly name: string;
  readonly resource: Readonly<Record<string, unknown>>;
  response(request: ApiRequest): ApiReply;
  readonly pages: readonly (readonly number[])[];
}

const four = [
  [1, 2, 3, 4],
  [5, 6, 7, 8],
  [9, 10],
];

const kinds: readonly Kind[] = [
  {
    name: 'none',
    resource: { pagination: { kind: 'none' } },
    response: () => ({ body: rows }),
    pages: [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  },
  {
    name: 'page, ended by a short page',
    resource: { pagination: { kind: 'page', size: 4, inject: inQuery('page') } },
    response: (request) => {
      const at = (numberOf(request, 'page', 0) - 1) * 4;
      return { body: rows.slice(at, at + 4) };
    },
    pages: four,
  },
  {
    name: 'page from 0 without a size, ended by an empty page',
    resource: { pagination: { kind: 'page', start: 0, inject: inQuery('p') } },
    response: (request) => {
      const at = numberOf(request, 'p', -1) * 5;
      return { body: rows.slice(at, at + 5) };
    },
    pages: [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], []],
  },
  {
    name: 'page, ended by the number of pages although pages are shorter than asked for',
    resource: {
      response: { records: 'data' },
      pagination: { kind: 'page', size: 100, inject: inQuery('page'), totalPages: 'body.pages' },
    },
    response: (request) => {
      const at = (numberOf(request, 'page', 0) - 1) * 4;
      return { body: { data: rows.slice(at, at + 4), pages: 3 } };
    },
    pages: four,
  },
  {
    name: 'offset, ended by the total',
    resource: {
      response: { records: 'data' },
      pagination: { kind: 'offset', size: 5, inject: inQuery('offset'), total: 'body.total' },
    },
    response: (request) => {
      const at = numberOf(request, 'offset', -1);
      return { body: { data: rows.slice(at, at + 5), total: 10 } };
    },
    pages: [
      [1, 2, 3, 4, 5],
      [6, 7, 8, 9, 10],
    ],
  },
  {
    name: 'offset with overlap, because rows move',
    resource: { pagination: { kind: 'offset', size: 5, overlap: 2, inject: inQuery('offset') } },
    response: (request) => {
      const at = numberOf(request, 'offset', -1);
      return { body: rows.slice(at, at + 5) };
    },
    pages: [
      [1, 2, 3, 4, 5],
      [4, 5, 6, 7, 8],
      [7, 8, 9, 10],
    ],
  },
  {
    name: 'cursor, with an empty page in between',
    resource: {
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.meta.next', inject: inQuery('after') },
    },
    response: (request) => {
      const after = request.url.searchParams.get('after');
      if (after === 't1') return { body: { data: [], meta: { next: 't2' } } };
      if (after === 't2') return { body: { data: rows.slice(5), meta: { next: '' } } };
      return { body: { data: rows.slice(0, 5), meta: { next: 't1' } } };
    },
    pages: [[1, 2, 3, 4, 5], [], [6, 7, 8, 9, 10]],
  },
  {
    name: 'next_url, relative and absolute',
    resource: {
      request: { path: '/items', query: { limit: 4 } },
      response: { records: 'data' },
      pagination: { kind: 'next_url', next: 'body.next' },
    },
    response: (request) => {
      const at = numberOf(request, 'at', 0);
      const next = at === 0 ? '/items?at=4' : at === 4 ? `${request.url.origin}/items?at=8` : null;
      return { body: { data: rows.slice(at, at + 4), next } };
    },
    pages: four,
  },
  {
    name: 'link_header',
    resource: { pagination: { kind: 'link_header', size: 4 } },
    response: (request) => {
      const at = numberOf(request, 'at', 0);
      const link = `<?at=${at + 4}>; rel="next", <?at=0>; rel="first"`;
      return {
        body: rows.slice(at, at + 4),
        headers: at + 4 < rows.length ? { link } : { link: '<?at=0>; rel=first' },
      };
    },
    pages: four,
  },
  {
    name: 'keyset, ended by what the API says',
    resource: {
      response: { records: 'data' },
      pagination: {
        kind: 'keyset',
        field: 'id',
        size: 100,
        inject: inQuery('starting_after'),
        stopWhen: 'body.has_more = false',
      },
    },
    response: (request) => {
      const at = numberOf(request, 'starting_after', 0);
      return { body: { data: rows.slice(at, at + 4), has_more: at + 4 < rows.length } };
    },
    pages: four,
  },
  {
    name: 'cursor in the JSON body of a POST',
    resource: {
      request: { method: 'POST', path: '/search', body: { json: { limit: '{{ page.size }}', paging: { a: 1 } } } },
      response: { records: 'results' },
      pagination: {
        kind: 'cursor',
        size: 4,
        next: 'body.after',
        inject: { in: 'body', name: 'paging.after' },
      },
    },
    response: (request) => {
      const { limit, paging } = JSON.parse(request.body) as { limit: number; paging: { a: number; after?: number } };
      const at = paging.after ?? 0;
      return { body: { results: rows.slice(at, at + limit), after: at + 4 < rows.length ? at + 4 : null } };
    },
    pages: four,
  },
];

/** One by one: so many requests as pages. */
const http = { rateLimit: { maxConcurrent: 1 } };

describe.each(kinds)('paging by $name', (kind) => {
  test('gives every page once, in order', async () => {
    await using api = await startApi(kind.response);
    const pages = await pagesOf(
      readPages(sourceOf({ api, evaluator, resource: kind.resource, http }), { position: null, signal }),
    );
    expect(idsOf(pages)).toEqual(kind.pages);
    expect(api.requests).toHaveLength(kind.pages.length);
    expect(pages.map((page) => page.pageNo)).toEqual(kind.pages.map((_, index) => index + 1));
    expect(pages.map((page) => page.positionAfter === null)).toEqual(
      kind.pages.map((_, index) => index === kind.pages.length - 1),
    );
  });

  test('resumed after any page gives exactly the remaining pages', async () => {
    await using api = await startApi(kind.response);
    const source = sourceOf({ api, evaluator, resource: kind.resource, http });
    const pages = await pagesOf(readPages(source, { position: null, signal }));
    for (const [index, page] of pages.entries()) {
      if (page.positionAfter === null) continue;
      const position = JSON.parse(JSON.stringify(page.positionAfter)) as ReadPosition;
      const asked = api.requests.length;
      const rest = await pagesOf(readPages(source, { position, signal }));
      expect(idsOf(rest)).toEqual(kind.pages.slice(index + 1));
      expect(rest.map((later) => later.pageNo)).toEqual(pages.slice(index + 1).map((later) => later.pageNo));
      expect(api.requests).toHaveLength(asked + rest.length);
    }
  });
});
