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

/** `count` items from an index on. */
const itemsFrom = (at: number, count: number) => rows.slice(at, at + count);

describe('a page that the count of the API contradicts', () => {
  const byPage = { kind: 'page', size: 4, inject: inQuery('page') };
  const pageOf = (request: ApiRequest) => numberOf(request, 'page', 1);
  const kinds: readonly (readonly [string, Parts, (request: ApiRequest) => number])[] = [
    ['a number of pages', { ...byPage, totalPages: 'body.pages' }, (request) => (pageOf(request) - 1) * 4],
    ['a number of records', byPage, (request) => (pageOf(request) - 1) * 4],
    [
      'a total of an offset',
      { kind: 'offset', size: 4, stable: true, total: 'body.total', inject: inQuery('offset') },
      (request) => numberOf(request, 'offset', 0),
    ],
  ];
  const replying =
    (at: (request: ApiRequest) => number, count: (at: number) => number) =>
    (request: ApiRequest): ApiReply => {
      const from = at(request);
      return { body: { data: itemsFrom(from, count(from)), pages: 3, total: 10 } };
    };

  test.each(kinds)('is not the last: an empty one before the end by %s', async (_, pagination, at) => {
    const reply = replying(at, (from) => (from === 4 ? 0 : 4));
    const resource = { response: { records: 'data', total: 'total' }, pagination };
    const { ids, gaps } = await read(reply, resource);
    expect(ids).toEqual([1, 2, 3, 4, 9, 10]);
    expect(gaps).toEqual(['count_differs']);
  });

  test.each(kinds)('is not the last: a short one before the end by %s', async (_, pagination, at) => {
    const reply = replying(at, (from) => (from === 0 ? 3 : 4));
    const resource = { response: { records: 'data', total: 'total' }, pagination };
    const { ids } = await read(reply, resource);
    expect(ids).toContain(10);
  });

  test('withdraws the watermark of its window', async () => {
    const incremental = {
      kind: 'cursor',
      cursor: { field: 'updated_at', type: 'datetime', missing: 'fail' },
      order: 'asc',
    };
    const resource = {
      response: { records: 'data' },
      pagination: { ...byPage, totalPages: 'body.pages', stable: true },
      incremental,
    };
    const { pages } = await read(
      replying(kinds[0]?.[2] ?? pageOf, (from) => (from === 4 ? 0 : 4)),
      resource,
    );
    expect(pages.map(({ watermarkAfter }) => watermarkAfter)).toEqual([rows[3]?.updated_at, null, null]);
  });

  test('may be the end where the spec says so with stopWhen', async () => {
    const resource = {
      response: { records: 'data', total: 'total' },
      pagination: { ...byPage, stopWhen: 'page.number = 2' },
    };
    const { ids, gaps } = await read(
      replying(kinds[0]?.[2] ?? pageOf, () => 4),
      resource,
    );
    expect(ids).toHaveLength(8);
    expect(gaps).toEqual([]);
  });
});

describe('an empty page behind which the API says that more follow', () => {
  const stopWhen = 'body.more = false';
  const byPage = { kind: 'page', inject: inQuery('page'), stopWhen };
  const kinds: readonly (readonly [string, Parts])[] = [
    ['page', byPage],
    ['page with a size', { ...byPage, size: 4 }],
    ['offset', { kind: 'offset', size: 4, step: 'size', stable: true, inject: inQuery('offset'), stopWhen }],
    ['cursor', { kind: 'cursor', next: 'body.next', inject: inQuery('page'), emptyPage: 'stop', stopWhen }],
  ];
  const reply = (request: ApiRequest): ApiReply => {
    const page = 1 + numberOf(request, 'offset', 0) / 4;
    const no = numberOf(request, 'page', page);
    const data = no === 2 || no === 3 ? [] : itemsFrom(no === 1 ? 0 : 4, 4);
    return { body: { data, more: no < 4, next: no + 1 } };
  };

  test.each([
    [
      'a link',
      '$not($exists(body._links.next))',
      (no: number) => ({ _links: no < 4 ? { next: { href: '/items' } } : {} }),
    ],
    ['a list of links', '$not("next" in body.rels)', (no: number) => ({ rels: no < 4 ? ['next'] : ['prev'] })],
    ['a number of pages from zero', 'body.number + 1 >= body.pages', (no: number) => ({ number: no - 1, pages: 4 })],
  ] as const)('is not the last where it has %s', async (_, rule, says) => {
    const respond = (request: ApiRequest): ApiReply => {
      const no = numberOf(request, 'page', 1);
      return { body: { data: no === 4 ? itemsFrom(0, 4) : [], ...says(no) } };
    };
    const { ids, gaps } = await read(respond, {
      response: { records: 'data' },
      pagination: { ...byPage, stopWhen: rule },
    });
    expect([ids, gaps]).toEqual([[1, 2, 3, 4], []]);
  });

  test.each(kinds)('is not the last: %s', async (_, pagination) => {
    const { ids, gaps } = await read(reply, { response: { records: 'data' }, pagination }, { provesEnd: true });
    expect([ids, gaps]).toEqual([[1, 2, 3, 4, 5, 6, 7, 8], []]);
  });

  test('leaves a gap where its items would say how to go on', async () => {
    const keyset = { kind: 'keyset', field: 'id', inject: inQuery('after'), emptyPage: 'continue', stopWhen };
    const cut = (request: ApiRequest): ApiReply =>
      numberOf(request, 'after', 0) === 0
        ? { body: { data: itemsFrom(0, 4), more: true } }
        : { body: { data: [], more: true } };
    const { ids, gaps } = await read(cut, { response: { records: 'data' }, pagination: keyset });
    expect([ids, gaps]).toEqual([[1, 2, 3, 4], ['count_differs']]);
  });

  test('is the last where the rule is about its last item', async () => {
    const pagination = { ...byPage, stopWhen: 'last.id = 100' };
    const { ids, asked } = await read((r) => ({ body: numberOf(r, 'page', 1) === 1 ? itemsFrom(0, 4) : [] }), {
      pagination,
    });
    expect([ids.length, asked.length]).toEqual([4, 2]);
  });

  test.each<[string, string, Parts]>([
    ['a flag that is not there', 'body.more = false', {}],
    ['a count of zero', 'page.number = body.pages', { pages: 0 }],
    ['a number that it has passed', 'body.page = body.pages', { page: 4, pages: 3 }],
    ['a count of zero in a header', '$number(headers."x-pages") = page.number', {}],
    ['null', 'body.more = false', { more: null }],
    ['its items', 'body.data[-1].archived = true', {}],
    ['nothing of the response', 'false', {}],
    ['the watermark', '$exists(body.data[at < $$.watermark])', { data: [] }],
  ])('is the last where the rule is about %s', async (_, rule, body) => {
    const { ids, asked, gaps } = await read(() => ({ body: { data: [], ...body } }), {
      response: { records: 'data' },
      pagination: { ...byPage, stopWhen: rule },
    });
    expect([ids, gaps, asked.length]).toEqual([[], [], 1]);
  });
});

describe('a short page of an API that gives no count', () => {
  const kinds: readonly (readonly [string, Parts, (request: ApiRequest) => number])[] = [
    ['page', { kind: 'page', size: 4, inject: inQuery('page') }, (request) => (numberOf(request, 'page', 1) - 1) * 4],
    [
      'offset',
      { kind: 'offset', size: 4, step: 'size', stable: true, inject: inQuery('offset') },
      (request) => numberOf(request, 'offset', 0),
    ],
    ['keyset', { kind: 'keyset', size: 4, field: 'id', inject: inQuery('after') }, (r) => numberOf(r, 'after', 0)],
  ];
  const shortAt =
    (at: (request: ApiRequest) => number, behind: ApiReply = { body: [] }) =>
    (request: ApiRequest): ApiReply => {
      const from = at(request);
      if (from >= 10) return behind;
      return { body: itemsFrom(from, from === 0 ? 3 : 4) };
    };

  test.each(kinds)('ends a read: %s', async (_, pagination, at) => {
    expect(await read(shortAt(at), { pagination })).toMatchObject({ ids: [1, 2, 3], gaps: [] });
  });

  test.each(kinds)('is no end where something is concluded from the end of the list: %s', async (_, pagination, at) => {
    const { ids, gaps } = await read(shortAt(at), { pagination }, { provesEnd: true });
    expect(ids).toContain(10);
    expect(gaps).toEqual([]);
  });

  const byPage = { pagination: kinds[0]?.[1] };
  const few = (request: ApiRequest, behind: ApiReply): ApiReply =>
    numberOf(request, 'page', 1) === 1 ? { body: itemsFrom(0, 3) } : behind;
  test.each<[string, ApiReply, readonly string[]]>([
    ['is refused as not found', { status: 404 }, []],
    ['is refused for a reason that is not clear', { status: 400 }, ['page_short']],
    ['is the same page again', { body: itemsFrom(0, 3) }, []],
  ])('is the end where the one behind it %s', async (_, behind, gaps) => {
    const { error, gaps: found } = await read((request) => few(request, behind), byPage, { provesEnd: true });
    expect(error).toBeNull();
    expect(found).toEqual(gaps);
  });
});

describe('pages of a path with *', () => {
  const orders = [
    { id: 1, lines: [{ id: 10 }] },
    { id: 2, lines: [] },
    { id: 3, lines: [{ id: 30 }, { id: 31 }, { id: 32 }] },
    { id: 4, lines: [{ id: 40 }] },
    { id: 5, lines: [{ id: 50 }] },
  ];
  const paged = (request: ApiRequest): ApiReply => {
    const at = request.url.searchParams.has('page')
      ? (numberOf(request, 'page', 1) - 1) * 2
      : numberOf(request, 'offset', 0);
    return { body: { orders: orders.slice(at, at + 2), total: orders.length, last: orders[at + 1]?.id ?? null } };
  };
  const lines = [10, 30, 31, 32, 40, 50];

  test.each<[string, Parts]>([
    ['page numbers with a size', { kind: 'page', size: 2, inject: inQuery('page') }],
    ['page numbers without a size', { kind: 'page', inject: inQuery('page') }],
    ['offsets', { kind: 'offset', size: 2, inject: inQuery('offset') }],
    ['counted offsets', { kind: 'offset', size: 2, total: 'body.total', inject: inQuery('offset') }],
    ['a rule about the last element', { kind: 'page', inject: inQuery('page'), stopWhen: 'last.id = 5' }],
  ])('are counted by the elements of the first *: %s', async (_, pagination) => {
    const { ids } = await read(paged, { response: { records: 'orders.*.lines.*' }, pagination });
    expect(ids).toEqual(lines);
  });
});

describe('a page whose form contradicts the spec', () => {
  test('is refused where it is larger than asked for after a page had failed', async () => {
    const fixed = (request: ApiRequest): ApiReply => {
      const page = numberOf(request, 'page', 1);
      if (page === 2 && numberOf(request, 'limit', 0) === 4) return { status: 500 };
      return { body: Array.from({ length: 4 }, (_, no) => ({ id: (page - 1) * 4 + no + 1 })) };
    };
    const { error, ids } = await read(fixed, {
      request: { path: '/items', query: { limit: '{{ page.size }}' } },
      pagination: { kind: 'page', size: 4, inject: inQuery('page'), shrink: { when: { status: [500] }, min: 1 } },
    });
    expect(ids).toEqual([1, 2, 3, 4]);
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('pagination.shrink') });
  });

  test.each([
    ['within a page', [1, 2, 3, 3]],
    ['for a whole page', [1, 1, 1, 1]],
  ])('is refused where the key of its last item is not unique: %s', async (_, keys) => {
    const { error } = await read(() => ({ body: keys.map((n) => ({ id: n, n })) }), {
      pagination: { kind: 'keyset', size: 4, field: 'n', inject: inQuery('after') },
    });
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('pagination.field') });
  });

  test.each<[string, unknown, Parts, unknown]>([
    ['a list that PHP wrote as an object is read as a list', { 0: { id: 1 }, 2: { id: 3 } }, {}, [1, 3]],
    ['one record is a list of one', { id: 7, 5: { a: 1 } }, {}, [7]],
    ['the report of a fault is refused', { error: 'try later' }, {}, 'source_rejected'],
    ['an object that is only partly a list is refused', { 0: { id: 1 }, note: 1 }, {}, 'source_rejected'],
  ])('%s', async (_, body, response, expected) => {
    const { ids, error } = await read(() => ({ body }), { response });
    if (Array.isArray(expected)) expect(ids).toEqual(expected);
    else expect(error).toMatchObject({ code: expected });
  });

  test('a web page is no CSV', async () => {
    const body = '<!DOCTYPE html>\n<html>\n<body>login</body>\n</html>';
    const { error } = await read(() => ({ body, headers: { 'content-type': 'text/html' } }), {
      response: { decoder: 'csv' },
    });
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('web page') });
  });
});

describe('chunks of fields', () => {
  const chunked = (parts: Parts): Parts => ({
    request: { path: '/items', query: { fields: '{{ chunk.fields }}' } },
    response: { records: 'data' },
    fieldChunks: { fields: ['a', 'b'], size: 1, join: ',', ...parts },
  });

  test('are refused where two items of one of them have the same key', async () => {
    const data = [
      { id: 1, day: 1, campaign: 1 },
      { id: 2, day: 1, campaign: 2 },
    ];
    const { error } = await read(() => ({ body: { data } }), chunked({ mergeBy: ['day'] }));
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('mergeBy') });
  });

  test('fail the read where a later one says that there is no page, of which the first has records', async () => {
    const reply = ({ url }: ApiRequest): ApiReply => {
      const isFirst = url.searchParams.get('page') === '1';
      if (!isFirst && url.searchParams.get('fields') === 'b') return { status: 404 };
      return { body: { data: [{ id: isFirst ? 1 : 2 }] } };
    };
    const pagination = { kind: 'page', size: 2, inject: inQuery('page') };
    const { error, ids } = await read(reply, { ...chunked({}), pagination }, { provesEnd: true });
    expect(ids).toEqual([1]);
    expect(error).toMatchObject({ code: 'source_unavailable', message: expect.stringContaining('more fields') });
  });

  test('are refused where a later one has a further page and the first has none', async () => {
    const reply = ({ url }: ApiRequest): ApiReply =>
      url.searchParams.get('fields') === 'a'
        ? { body: { data: [{ id: 1 }], next: null } }
        : { body: { data: [{ id: 2 }], next: 'p2' } };
    const { error } = await read(reply, {
      ...chunked({ onMissing: 'keep' }),
      pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('after') },
    });
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('onMissing') });
  });
});
