import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { Validators } from '../../model/validators.ts';
import type { Source } from '../source.ts';
import { type Api, type ApiReply, type ApiRequest, inQuery, pagesOf, sourceOf, startApi } from '../source-fixture.ts';
import { type PageRead, readPages } from './read-pages.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const { signal } = new AbortController();
const watermark = '2025-12-01T00:00:00.000Z';
const later = '2025-12-20T00:00:00.000Z';

/** A cursor without an order, read in windows of ten days up to the first of January. */
const windowed = {
  request: { path: '/items', query: { since: '{{ window.from }}', until: '{{ window.to }}' } },
  response: { records: 'data', recordsMissing: 'empty' },
  incremental: {
    ...{ kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'none', settle: 'PT0S' },
    window: { size: 'P10D' },
  },
};

const read = (
  parts: { readonly api: Pick<Api, 'origin'>; readonly resource: Readonly<Record<string, unknown>> },
  overrides: Partial<Source> = {},
): Promise<readonly PageRead[]> =>
  pagesOf(readPages(sourceOf({ ...parts, evaluator }, { watermark, ...overrides }), { position: null, signal }));

const isOfWindow = ({ url }: ApiRequest, no: number): boolean =>
  url.searchParams.get('since') === `2025-12-${String(no * 10 - 9).padStart(2, '0')}T00:00:00.000Z`;

describe('a page that is no list which the API sent now', () => {
  const unlisted: Readonly<
    Record<string, { readonly reply: ApiReply; readonly parts?: Readonly<Record<string, unknown>> }>
  > = {
    'without its list': { reply: { body: { message: 'busy' } } },
    'that a rule calls empty': {
      reply: { status: 404 },
      parts: { errors: [{ when: { status: [404] }, action: 'empty' }] },
    },
    'that says 304 to a request without a condition': { reply: { status: 304 } },
  };

  test.each(Object.entries(unlisted))(
    '%s: no watermark passes it, also in later windows',
    async (_, { reply, parts }) => {
      await using api = await startApi((request) =>
        isOfWindow(request, 2) ? reply : { body: { data: isOfWindow(request, 3) ? [{ id: 1, at: later }] : [] } },
      );
      const pages = await read({ api, resource: { ...windowed, ...parts } });
      const claimed = '2025-12-11T00:00:00.000Z';
      expect(pages.map(({ watermarkAfter }) => watermarkAfter)).toEqual([claimed, claimed, claimed, claimed]);
      expect(pages[1]?.gaps).toHaveLength(1);
    },
  );

  test('from the cache of responses: no watermark passes it', async () => {
    await using api = await startApi(() => ({ body: { data: [] } }));
    const resource = { ...windowed, request: { path: '/items', cache: { mode: 'ttl', ttlSeconds: 60 } } };
    const [first] = await read({ api, resource });
    const before = api.requests.length;
    const pages = await read({ api, resource }, { validators: first?.validators ?? null });
    expect(api.requests).toHaveLength(before);
    expect(new Set(pages.map(({ watermarkAfter }) => watermarkAfter))).toEqual(new Set([watermark]));
  });

  test('keeps what pages in ascending order have claimed before it', async () => {
    await using api = await startApi(({ url }) =>
      url.searchParams.has('page') ? { body: {} } : { body: { data: [{ id: 1, at: later }], next: 2 } },
    );
    const resource = {
      ...windowed,
      pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('page') },
      incremental: { ...windowed.incremental, order: 'asc', window: { size: 'P90D' } },
    };
    const pages = await read({ api, resource });
    expect(pages.map(({ watermarkAfter }) => watermarkAfter)).toEqual([later, later]);
  });

  test('gives no token for the next read', async () => {
    await using api = await startApi(() => ({ body: { token: 't2' } }));
    const resource = { ...windowed, incremental: { kind: 'token', next: 'body.token' } };
    expect(await read({ api, resource }, { watermark: 't1' })).toMatchObject([{ watermarkAfter: 't1' }]);
  });
});

describe('the validators that a read leaves', () => {
  const tagged = (body: unknown): ApiReply => ({ headers: { etag: '"1"' }, body });
  const conditional = { request: { path: '/items', cache: { mode: 'conditional' } }, response: { records: 'data' } };
  const links = { pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('page') } };

  test('are those of a list that is one page', async () => {
    await using api = await startApi(() => tagged({ data: [{ id: 1 }] }));
    expect(await read({ api, resource: conditional })).toMatchObject([{ validators: { etag: '"1"', isWhole: true } }]);
  });

  test('are none where other pages follow, as the first does not tell of them', async () => {
    await using api = await startApi(({ url }) =>
      tagged(url.searchParams.has('page') ? { data: [] } : { data: [{ id: 1 }], next: 2 }),
    );
    const pages = await read({ api, resource: { ...conditional, ...links } });
    expect(pages.map(({ validators }) => validators)).toEqual([null, null]);
  });

  test('are none where the read ends before the list does', async () => {
    await using api = await startApi(() => tagged({ data: [{ id: 1, at: '2025-01-01T00:00:00Z' }], next: 2 }));
    const incremental = { ...windowed.incremental, order: 'desc', clientFilter: true, window: undefined };
    const { window: _, ...newestFirst } = incremental;
    const pages = await read({ api, resource: { ...conditional, ...links, incremental: newestFirst } });
    expect(pages).toMatchObject([{ positionAfter: null, validators: null }]);
  });

  test('are none of a response without its list', async () => {
    await using api = await startApi(() => tagged({ message: 'busy' }));
    const resource = { ...conditional, response: { records: 'data', recordsMissing: 'empty' } };
    expect(await read({ api, resource })).toMatchObject([{ validators: null }]);
  });

  test('of a page of an earlier version of the service make no request conditional', async () => {
    await using api = await startApi(() => tagged({ data: [{ id: 1 }] }));
    const [first] = await read({ api, resource: conditional });
    const { isWhole: _, ...earlier } = first?.validators ?? ({} as Validators);
    await read({ api, resource: conditional }, { validators: earlier });
    await read({ api, resource: conditional }, { validators: first?.validators ?? null });
    expect(api.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, undefined, '"1"']);
  });
});
