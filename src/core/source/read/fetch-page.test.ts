import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { NoResponseError } from '../request/no-response.ts';
import type { Source } from '../source.ts';
import { idsOf, inQuery, numberOf, pagesOf, readUntilFailure, rows, sourceOf, startApi } from '../source-fixture.ts';
import { readPages } from './read-pages.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const { signal } = new AbortController();

describe('a read fails instead of ending early', () => {
  test('where there are more pages than the spec allows', async () => {
    await using api = await startApi((request) => {
      const page = numberOf(request, 'page', 0);
      return { body: [{ id: page }] };
    });
    const resource = { pagination: { kind: 'page', inject: inQuery('page'), maxPages: 3 } };
    const { pages, error } = await readUntilFailure(sourceOf({ api, evaluator, resource }));
    expect(pages).toHaveLength(2);
    expect(error).toMatchObject({ code: 'page_limit' });
  });

  test('where a link leads away from the API', async () => {
    await using api = await startApi(() => ({ body: { data: [], next: 'https://evil.test/items' } }));
    const resource = { response: { records: 'data' }, pagination: { kind: 'next_url', next: 'body.next' } };
    const { error } = await readUntilFailure(sourceOf({ api, evaluator, resource }));
    expect(error).toMatchObject({ code: 'egress_blocked' });
  });

  test('where the body of a response with status 200 is an error', async () => {
    await using api = await startApi(() => ({ body: { error: 'expired' } }));
    const missing = await readUntilFailure(sourceOf({ api, evaluator, resource: { response: { records: 'data' } } }));
    expect(missing.error).toMatchObject({
      code: 'source_rejected',
      message: expect.stringContaining('missing or null'),
    });
    const unsuccessful = { response: { records: '$', successWhen: '$exists(data)' } };
    const { error } = await readUntilFailure(sourceOf({ api, evaluator, resource: unsuccessful }));
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('successWhen') });
  });

  test('where an error is in place of the next page, although a rule takes its status as empty', async () => {
    await using api = await startApi((request) =>
      request.url.searchParams.has('after') ? { status: 404 } : { body: { data: [{ id: 1 }], next: 't' } },
    );
    const resource = {
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('after') },
      errors: [{ when: { status: [404] }, action: 'empty' }],
    };
    const { pages, error } = await readUntilFailure(sourceOf({ api, evaluator, resource }));
    expect(idsOf(pages)).toEqual([[1]]);
    expect(error).toMatchObject({ code: 'source_rejected' });
  });

  test('where the last item lacks the keyset field', async () => {
    await using api = await startApi(() => ({ body: [{ id: 1 }, { key: 2 }] }));
    const resource = { pagination: { kind: 'keyset', field: 'id', size: 2, inject: inQuery('after') } };
    const { error } = await readUntilFailure(sourceOf({ api, evaluator, resource }));
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('"id"') });
  });
});

describe('a response that no position could hold fails the read at once', () => {
  const next = (value: string) => ({ body: { data: [{ id: 1 }, { id: value }], next: value } });
  const response = { records: 'data' };

  test.each([
    ['page token', 'a\0', { response, pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('after') } }],
    [
      'page token',
      'a\ud800',
      { response, pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('after') } },
    ],
    ['link', '/items?after=\0', { response, pagination: { kind: 'next_url', next: 'body.next' } }],
    [
      'value of "id"',
      'a\0',
      { response, pagination: { kind: 'keyset', field: 'id', size: 2, inject: inQuery('after') } },
    ],
    ['token for the next read', 'a\0', { response, incremental: { kind: 'token', next: 'body.next', expired: {} } }],
  ])('%s %j', async (what, value, resource) => {
    await using api = await startApi(() => next(value));
    const { pages, error } = await readUntilFailure(sourceOf({ api, evaluator, resource }));
    expect(pages).toEqual([]);
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining(what) });
    expect(error).toMatchObject({ message: expect.stringMatching(/no database column|not a character/) });
  });

  test('but a record with such a cursor costs only itself: its watermark is that of the others', async () => {
    await using api = await startApi(() => ({
      body: [
        { id: 1, v: 'a' },
        { id: 2, v: 'b\0' },
      ],
    }));
    const incremental = { kind: 'cursor', cursor: { field: 'v', type: 'string' }, order: 'asc' };
    const source = sourceOf({ api, evaluator, resource: { incremental } });
    const [page] = await pagesOf(readPages(source, { position: null, signal }));
    expect(page).toMatchObject({ watermarkAfter: 'a', notes: ['cursor_missing'] });
    expect(page?.records).toHaveLength(2);
  });
});

describe('a page of more than 100,000 records', () => {
  const records = (count: number) => `[${Array.from({ length: count }, () => '1').join(',')}]`;

  test.each([
    ['in a list', 'json', records(100_001)],
    ['one per line', 'jsonl', '1\n'.repeat(100_001)],
  ])('fails the read, %s', async (_form, decoder, body) => {
    await using api = await startApi(() => ({ body }));
    const { error } = await readUntilFailure(sourceOf({ api, evaluator, resource: { response: { decoder } } }));
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('smaller pages') });
  });

  test('one less is read', async () => {
    await using api = await startApi(() => ({ body: records(100_000) }));
    const { pages } = await readUntilFailure(sourceOf({ api, evaluator, resource: {} }));
    expect(pages[0]?.records).toHaveLength(100_000);
  });
});

describe('records', () => {
  test('missing records are an empty page where the spec says so, and the page says it too', async () => {
    await using api = await startApi(() => ({ body: { data: null } }));
    const resource = { response: { records: 'data', recordsMissing: 'empty' } };
    const pages = await pagesOf(readPages(sourceOf({ api, evaluator, resource }), { position: null, signal }));
    expect(pages).toMatchObject([{ records: [], gaps: ['list_missing'] }]);
  });

  test('an object is one record', async () => {
    await using api = await startApi(() => ({ body: { me: { id: 7 } } }));
    const source = sourceOf({ api, evaluator, resource: { response: { records: 'me' } } });
    expect(idsOf(await pagesOf(readPages(source, { position: null, signal })))).toEqual([[7]]);
  });

  test('are mapped, and get the fields of the partition', async () => {
    await using api = await startApi(() => ({
      body: {
        edges: [
          { node: { id: 1 }, n: 2 },
          { node: { id: 2 }, n: 3 },
        ],
      },
    }));
    const response = { records: 'edges', map: "$merge([node, {'twice': n * 2}])", addFields: { repo: 'each.repo' } };
    const source = sourceOf({ api, evaluator, resource: { response } }, { each: { repo: 'a/b' } });
    const [page] = await pagesOf(readPages(source, { position: null, signal }));
    expect(page?.records).toEqual([
      { id: 1, twice: 4, repo: 'a/b' },
      { id: 2, twice: 6, repo: 'a/b' },
    ]);
  });

  test('get no fields that together are larger than a process should hold', async () => {
    await using api = await startApi(() => ({ body: { edges: [{ id: 1 }, { id: 2 }] } }));
    const response = { records: 'edges', addFields: { note: 'each.note' } };
    const source = sourceOf({ api, evaluator, resource: { response } }, { each: { note: 'x'.repeat(40_000_000) } });
    await expect(pagesOf(readPages(source, { position: null, signal }))).rejects.toMatchObject({
      code: 'spec_invalid',
      message: expect.stringContaining('response.addFields adds more than 64 MB'),
    });
  });

  test('a plain map path needs no evaluation', async () => {
    await using api = await startApi(() => ({ body: { edges: [{ node: { id: 1 } }] } }));
    const source = sourceOf({ api, evaluator, resource: { response: { records: 'edges', map: 'node' } } });
    expect(idsOf(await pagesOf(readPages(source, { position: null, signal })))).toEqual([[1]]);
  });

  test('one JSON text per line is a page of records', async () => {
    await using api = await startApi(() => ({ body: '{"id":1}\n\n{"id":9007199254740993}\r\n' }));
    const source = sourceOf({ api, evaluator, resource: { response: { decoder: 'jsonl' } } });
    expect(idsOf(await pagesOf(readPages(source, { position: null, signal })))).toEqual([[1, '9007199254740993']]);
  });

  test('without a cursor value are kept, left out or refused, as declared', async () => {
    await using api = await startApi(() => ({ body: [{ id: 1, at: '2025-01-01' }, { id: 2 }, { id: 3, at: 'soon' }] }));
    const read = (missing: string) => {
      const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime', missing }, order: 'asc' };
      return readUntilFailure(sourceOf({ api, evaluator, resource: { incremental } }));
    };
    expect(await read('include')).toMatchObject({ pages: [{ notes: ['cursor_missing'] }], error: null });
    expect(idsOf((await read('include')).pages)).toEqual([[1, 2, 3]]);
    expect(idsOf((await read('exclude')).pages)).toEqual([[1]]);
    expect((await read('fail')).error).toMatchObject({ code: 'source_rejected' });
  });
});

describe('responses without a page', () => {
  test('304 on a conditional request reads nothing and keeps the watermark', async () => {
    await using api = await startApi((request) =>
      request.headers['if-none-match'] === '"v1"' ? { status: 304 } : { body: rows, headers: { etag: '"v1"' } },
    );
    const resource = {
      request: { path: '/items', cache: { mode: 'conditional' } },
      incremental: { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' },
    };
    const source = sourceOf({ api, evaluator, resource }, { watermark: '2025-01-10T00:00:00.000Z' });
    const [first] = await pagesOf(readPages(source, { position: null, signal }));
    const validators = first?.validators ?? null;
    const pages = await pagesOf(readPages({ ...source, validators }, { position: null, signal }));
    expect(pages).toMatchObject([
      { records: [], notModified: true, positionAfter: null, watermarkAfter: '2025-01-10T00:00:00.000Z' },
    ]);
  });

  describe.each([
    ['404 that a rule takes as empty', 404],
    ['304', 304],
  ])('%s in one window', (_what, status) => {
    const claims = status === 304;
    test(`leads to the next window, ${claims ? 'with the watermark behind both' : 'and no watermark passes it'}`, async () => {
      await using api = await startApi(({ url, headers }) => {
        if (url.searchParams.get('from') !== '2025-12-30') return { body: [rows[0]] };
        return status === 304 && headers['if-none-match'] !== '"v1"'
          ? { body: [], headers: { etag: '"v1"' } }
          : { status };
      });
      const resource = {
        request: { path: '/items', query: { from: '{{ window.from }}' }, cache: { mode: 'conditional' } },
        errors: [{ when: { status: [404] }, action: 'empty' }],
        incremental: {
          kind: 'cursor',
          cursor: { type: 'date' },
          order: 'none',
          settle: 'PT0S',
          initial: '2025-12-30',
          window: { size: 'P1D' },
        },
      };
      const source = sourceOf({ api, evaluator, resource });
      const read = async (validators: Source['validators']) =>
        await pagesOf(readPages({ ...source, validators }, { position: null, signal }));
      const { requestKey = '' } = (await read(null))[0] ?? {};
      const { specChecksum } = source;
      const at = '2025-12-31T00:00:00.000Z';
      const validators = { requestKey, specChecksum, etag: '"v1"', lastModified: null, at, isWhole: true } as const;
      const pages = await read(validators);
      expect(idsOf(pages)).toEqual([[], [1]]);
      expect(pages.map(({ notModified }) => notModified)).toEqual([status === 304, false]);
      expect(pages.map(({ gaps }) => gaps)).toEqual([[status === 304 ? 'not_modified' : 'list_missing'], []]);
      const ends = ['2025-12-31T00:00:00.000Z', '2026-01-01T00:00:00.000Z'];
      expect(pages.map(({ watermarkAfter }) => watermarkAfter)).toEqual(claims ? ends : [null, null]);
    });
  });

  test('a partition that the rules skip says why and keeps its watermark', async () => {
    await using api = await startApi(() => ({ status: 404 }));
    const errors = [{ when: { status: ['4xx'] }, action: 'skip_partition', message: 'No such repository' }];
    const [page] = await pagesOf(
      readPages(sourceOf({ api, evaluator, resource: { errors } }), { position: null, signal }),
    );
    expect(page).toMatchObject({ skipped: 'No such repository', positionAfter: null, watermarkAfter: null });
  });

  test.each([
    ['skipped', { kind: 'skipped', reason: 'network' }, { skipped: 'network', positionAfter: null }],
    [
      'empty',
      { kind: 'empty', notModified: false },
      { skipped: null, records: [], positionAfter: null, notModified: false },
    ],
  ] as const)('an API that sends no response is %s where a rule says so', async (_kind, meaning, page) => {
    const noResponse = async () => {
      throw new NoResponseError(meaning, 'network');
    };
    const client = {
      send: noResponse,
      logSaved: async () => {},
      logBlocked: async () => {},
      [Symbol.asyncDispose]: async () => {},
    };
    const source = sourceOf({ api: { origin: 'https://api.test' }, evaluator, resource: {} }, { client });
    expect(await pagesOf(readPages(source, { position: null, signal }))).toMatchObject([page]);
  });
});
