import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { Source } from '../source.ts';
import {
  type ApiReply,
  type ApiRequest,
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

describe('a page that comes again', () => {
  const looping = (request: ApiRequest): ApiReply => {
    const at = request.url.searchParams.get('after') ?? 'a';
    const next = { a: 'b', b: 'c', c: 'b' }[at];
    return { body: { data: [{ id: at }], next } };
  };
  const pagination = { kind: 'cursor', next: 'body.next', inject: inQuery('after') };

  test('fails the read after the pages before it', async () => {
    await using api = await startApi(looping);
    const source = sourceOf({ api, evaluator, resource: { response: { records: 'data' }, pagination } });
    const { pages, error } = await readUntilFailure(source);
    expect(idsOf(pages)).toEqual([['a'], ['b']]);
    expect(error).toMatchObject({ code: 'page_loop' });
  });

  test('ends the read where the spec says so', async () => {
    await using api = await startApi(looping);
    const resource = { response: { records: 'data' }, pagination: { ...pagination, onRepeat: 'stop' } };
    const pages = await pagesOf(readPages(sourceOf({ api, evaluator, resource }), { position: null, signal }));
    expect(idsOf(pages)).toEqual([['a'], ['b'], ['c']]);
    expect(pages.at(-1)?.notes).toEqual(['page_repeated']);
  });

  test('is noticed by its content when the API ignores the page number', async () => {
    await using api = await startApi(() => ({ body: rows.slice(0, 4) }));
    const resource = { pagination: { kind: 'page', size: 4, inject: inQuery('page') } };
    const { pages, error } = await readUntilFailure(sourceOf({ api, evaluator, resource }));
    expect(pages).toHaveLength(1);
    expect(error).toMatchObject({ code: 'page_loop' });
  });

  test('is noticed when the last link points to its own page', async () => {
    await using api = await startApi((request) => ({ body: { data: rows.slice(0, 2), next: request.url.href } }));
    const resource = { response: { records: 'data' }, pagination: { kind: 'next_url', next: 'body.next' } };
    const { error } = await readUntilFailure(sourceOf({ api, evaluator, resource }));
    expect(error).toMatchObject({ code: 'page_loop' });
    expect(api.requests).toHaveLength(1);
  });

  test('ends the read, too, where a whole page has one cursor value and names itself as the next', async () => {
    await using api = await startApi((request) => {
      const from = Number(request.url.searchParams.get('start') ?? 1);
      const body = {
        data: [
          { id: 1, at: from },
          { id: 2, at: Math.min(from + 1, 3) },
        ],
        end: Math.min(from + 1, 3),
      };
      return { body };
    });
    const resource = {
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.end', inject: inQuery('start'), onRepeat: 'stop' },
    };
    const pages = await pagesOf(readPages(sourceOf({ api, evaluator, resource }), { position: null, signal }));
    expect(pages).toHaveLength(4);
    expect(pages.flatMap(({ gaps }) => gaps)).toEqual([]);
  });

  test('is not one where the API has one token for all pages: it ends with a page that brings nothing new', async () => {
    const scroll = (data: unknown[]) => () => {
      const taken = data.shift() ?? [];
      return { body: { data: taken, next: 'scroll-1' } };
    };
    const items = (...ids: readonly number[]) => ids.map((id) => ({ id }));
    for (const onRepeat of ['fail', 'stop']) {
      await using api = await startApi(scroll([items(1, 2), items(3, 4), items(5)]));
      const resource = { response: { records: 'data' }, pagination: { ...pagination, onRepeat } };
      const { pages, error } = await readUntilFailure(sourceOf({ api, evaluator, resource }));
      expect(error).toBeNull();
      expect(idsOf(pages).flat()).toEqual([1, 2, 3, 4, 5]);
      expect(pages.flatMap(({ gaps }) => gaps)).toEqual([]);
    }
  });

  test('is read from its beginning where another process goes on: that one may have been given pages unread', async () => {
    let left: number[] = [];
    await using api = await startApi(({ url }) => {
      if (!url.searchParams.has('after')) left = [1, 2, 3, 4, 5];
      const id = left.shift();
      return { body: { data: id === undefined ? [] : [{ id }], next: 'scroll-1' } };
    });
    const source = sourceOf({ api, evaluator, resource: { response: { records: 'data' }, pagination } });
    const [first] = await pagesOf(readPages(source, { position: null, signal, lookAhead: 3 }));
    left = [4, 5];
    const pages = await pagesOf(readPages(source, { position: first?.positionAfter ?? null, signal }));
    expect(idsOf(pages).flat()).toEqual([1, 2, 3, 4, 5]);
    expect(pages[0]?.notes).toContain('window_restarted');
  });

  test('says that the read may not be whole where its last page leads back to an earlier one', async () => {
    await using api = await startApi(looping);
    const resource = { response: { records: 'data' }, pagination: { ...pagination, onRepeat: 'stop' } };
    const pages = await pagesOf(readPages(sourceOf({ api, evaluator, resource }), { position: null, signal }));
    expect(pages.map(({ gaps }) => gaps)).toEqual([[], [], ['page_repeated']]);
  });
});

describe('reading ahead', () => {
  const endless = (request: ApiRequest): ApiReply => {
    const page = numberOf(request, 'page', 1);
    return { body: { data: [{ id: page }], next: page + 1 } };
  };
  const resource = {
    response: { records: 'data' },
    pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('page') },
  };

  test('stops cleanly when the consumer leaves', async () => {
    await using api = await startApi(endless);
    const source = sourceOf({ api, evaluator, resource });
    // Counted where they are sent: one that is under way may reach the API later.
    let sent = 0;
    const client: Source['client'] = {
      ...source.client,
      send(...request) {
        sent += 1;
        return source.client.send(...request);
      },
    };
    for await (const page of readPages({ ...source, client }, { position: null, signal, lookAhead: 3 })) {
      if (page.pageNo === 2) break;
    }
    const sentBefore = sent;
    expect(sentBefore).toBeGreaterThan(1);
    expect(sentBefore).toBeLessThanOrEqual(6);
    await new Promise((later) => setImmediate(later));
    expect(sent).toBe(sentBefore);
  });

  test('requests no page in advance when reading ahead is turned off', async () => {
    await using api = await startApi(endless);
    const pages = readPages(sourceOf({ api, evaluator, resource }), { position: null, signal, lookAhead: 0 });
    await pages.next();
    expect(api.requests).toHaveLength(1);
    await pages.return();
  });

  test('fetches nothing behind a page of more than 4 MB until it is worked off', async () => {
    const large = 'x'.repeat(4_100_000);
    await using api = await startApi((request) => {
      const page = numberOf(request, 'page', 1);
      return { body: { data: [{ id: page, text: page === 2 ? large : '' }], next: page + 1 } };
    });
    const pages = readPages(sourceOf({ api, evaluator, resource }), { position: null, signal, lookAhead: 3 });
    await pages.next();
    await pages.next();
    // A request that should not be made would arrive before these.
    for (let turn = 0; turn < 10; turn += 1) await fetch(`${api.origin}/other`);
    expect(api.requests.filter(({ url }) => url.pathname === '/items')).toHaveLength(2);
    expect((await pages.next()).value).toMatchObject({ pageNo: 3 });
    await pages.return();
  });

  test('ends without a further request once it is enough, and can be continued', async () => {
    await using api = await startApi(endless);
    let left = 2;
    const enough = () => left-- === 0;
    const pages = await pagesOf(readPages(sourceOf({ api, evaluator, resource }), { position: null, signal, enough }));
    expect(idsOf(pages)).toEqual([[1], [2]]);
    expect(api.requests).toHaveLength(2);
    expect(pages.at(-1)?.positionAfter).toMatchObject({ page: { cursor: 3 } });
  });

  test('ends with the reason of the signal', async () => {
    await using api = await startApi(endless);
    const stop = new AbortController();
    const reading = pagesOf(
      (async function* () {
        for await (const page of readPages(sourceOf({ api, evaluator, resource }), {
          position: null,
          signal: stop.signal,
        })) {
          stop.abort(new Error('worker stops'));
          yield page;
        }
      })(),
    );
    await expect(reading).rejects.toThrow('worker stops');
  });
});
