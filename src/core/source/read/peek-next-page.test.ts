import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../errors.ts';
import { withConcurrencyMax } from '../../http/concurrency.ts';
import { ThrottledError } from '../../model/throttled.ts';
import { createHeldClient, type HeldResponse } from '../request/held-client-fixture.ts';
import type { Source } from '../source.ts';
import { idsOf, inQuery } from '../source-fixture.ts';
import {
  earliest,
  fast,
  latest,
  many,
  type Parts,
  pageFrom,
  readHeld,
  useHeldSource,
  windows,
} from './pages-ahead-fixture.ts';
import { type PageRead, type ReadOptions, readPages } from './read-pages.ts';

const { signal } = new AbortController();
const heldSource = useHeldSource();

describe('the page behind a token or a link', () => {
  const byToken = {
    response: { records: 'data' },
    pagination: { kind: 'cursor', next: 'body.next', inject: inQuery('page') },
  };
  const byLink = { response: { records: 'data' }, pagination: { kind: 'next_url', next: 'body.next' } };
  const byHeader = { response: { records: 'data' }, pagination: { kind: 'link_header' } };
  const pageOf = (url: URL) => Number(url.searchParams.get('page') ?? '1');

  /** `count` pages of one record, each leading to the one behind it. */
  const chain =
    (count: number) =>
    (url: URL): HeldResponse => {
      const page = pageOf(url);
      return { body: { data: [{ id: page }], next: page < count ? `${page + 1}` : null } };
    };
  const linked = (url: URL): HeldResponse => {
    const page = pageOf(url);
    return { body: { data: [{ id: page }], next: page < 5 ? `/items?page=${page + 1}` : '' } };
  };
  const linkedByHeader = (url: URL): HeldResponse => {
    const page = pageOf(url);
    const headers = page < 5 ? { link: `</items?page=${page + 1}>; rel="next"` } : {};
    return { body: [{ id: page }], headers };
  };
  const five = ['', '2', '3', '4', '5'];

  /** What had been asked when each response was handed on to be checked and decoded. */
  async function readEarly(response: (url: URL) => HeldResponse, parts: Parts, options: Partial<ReadOptions> = {}) {
    const api = createHeldClient('page', response);
    const askedBy: number[] = [];
    const source = heldSource(api, parts);
    const client: Source['client'] = {
      ...source.client,
      async send(request, how) {
        const received = await source.client.send(request, how);
        askedBy.push(api.asked.length);
        return received;
      },
    };
    const { pages, error } = await readHeld(api, { ...source, client }, { pick: earliest, ...options });
    return { ids: idsOf(pages).flat(), error, api, askedBy };
  }

  test.each([
    ['token', byToken, chain(5)],
    ['link', byLink, linked],
    ['link header', { ...byHeader, response: { records: '$' } }, linkedByHeader],
  ])('is requested before the response with the %s is classified', async (_, resource, response) => {
    const { ids, api, askedBy } = await readEarly(response, { resource });
    expect(ids).toEqual([1, 2, 3, 4, 5]);
    expect(api.asked).toEqual(five);
    expect(askedBy).toEqual([2, 3, 4, 5, 5]);
    expect(api.openMax()).toBe(1);
  });

  test('is requested after the current page when the records decide where the read ends', async () => {
    const at = (page: number) => `2025-01-0${6 - page}T00:00:00Z`;
    const newestFirst = (url: URL): HeldResponse => {
      const page = pageOf(url);
      return { body: { data: [{ id: page, at: at(page) }], next: `${page + 1}` } };
    };
    const incremental = {
      kind: 'cursor',
      cursor: { field: 'at', type: 'datetime' },
      order: 'desc',
      initial: at(3),
      clientFilter: true,
    };
    const { ids, api, askedBy } = await readEarly(newestFirst, { resource: { ...byToken, incremental } });
    expect(ids).toEqual([1, 2, 3]);
    expect(api.asked).toEqual(['', '2', '3', '4']);
    expect(askedBy).toEqual([1, 2, 3, 4]);
  });

  test.each([
    ['nothing is to be read ahead', {}, { lookAhead: 0 }],
    ['the reader may not fetch several', {}, { mayFetchSeveral: () => false }],
    ['the API says that its budget is used up', { 'x-left': '0' }, {}],
  ])('is asked for after the page where %s', async (_, headers, options) => {
    const http = { rateLimit: { ...fast, headers: { remaining: 'X-Left', reset: 'X-Reset' } } };
    const response = (url: URL): HeldResponse => ({ ...chain(5)(url), headers });
    const { ids, askedBy } = await readEarly(response, { resource: byToken, http }, options);
    expect(ids).toEqual([1, 2, 3, 4, 5]);
    expect(askedBy).toEqual([1, 2, 3, 4, 5]);
  });

  test.each([
    ['an expression says that it was the last', { stopWhen: 'false' }],
    ['an empty page ends the read', { emptyPage: 'stop' }],
    ['a page that comes again ends the read', { onRepeat: 'stop' }],
    ['its token is more than a path', { next: "body.next & ''" }],
  ])('is asked for after the page where %s', async (_, differently) => {
    const response = (url: URL): HeldResponse => ({
      body: { data: [{ id: pageOf(url) }], next: `${pageOf(url) + 1}` },
    });
    let left = 3;
    const resource = { ...byToken, pagination: { ...byToken.pagination, ...differently } };
    const { ids, askedBy } = await readEarly(response, { resource }, { enough: () => left-- === 0 });
    expect(ids).toEqual([1, 2, 3]);
    expect(askedBy).toEqual([1, 2, 3]);
  });

  test('is not requested after a response that is not a page', async () => {
    const response = (url: URL): HeldResponse => ({ ...chain(5)(url), status: pageOf(url) === 3 ? 403 : 200 });
    const { ids, error, api } = await readEarly(response, { resource: byToken });
    expect(ids).toEqual([1, 2]);
    expect(error).toMatchObject({ code: 'source_rejected' });
    expect(api.asked).toEqual(['', '2', '3']);
  });

  test('is not requested after the read has reached its end, which is checked once for each page', async () => {
    let questions = 0;
    const enough = () => {
      questions += 1;
      return questions > 3;
    };
    const { ids, api } = await readEarly(chain(5), { resource: byToken }, { enough });
    expect(ids).toEqual([1, 2, 3]);
    expect(api.asked).toEqual(['', '2', '3']);
    expect(questions).toBe(4);
  });

  test.each([
    ['a token', byToken, chain(1)],
    ['a link in a header', { ...byHeader, response: { records: '$' } }, () => ({ body: [{ id: 1 }] })],
    ['one page', { response: { records: 'data' } }, chain(1)],
  ])('costs no question whether it is enough where there is none, with %s', async (_, resource, response) => {
    let questions = 0;
    const enough = () => {
      questions += 1;
      return false;
    };
    expect((await readEarly(response, { resource }, { enough })).ids).toEqual([1]);
    expect(questions).toBe(1);
  });

  test.each([
    ['leads on', '9', ['2', '', '2', '3']],
    ['does not say so yet', '0', ['2', '', '2', '3']],
  ])('is requested again when the response before it was retried and the next one %s', async (_, left, asked) => {
    const api = createHeldClient('page', (url) => ({ ...chain(3)(url), headers: { 'x-left': left } }));
    const http = { rateLimit: { ...fast, headers: { remaining: 'X-Left', reset: 'X-Reset' } } };
    const source = heldSource(api, { resource: byToken, http });
    const client: Source['client'] = {
      ...source.client,
      async send(request, how) {
        const isFirst = api.asked.length === 0;
        const body = new TextEncoder().encode('{"data":[],"next":"2"}');
        if (isFirst) await how.onResponse?.({ status: 200, headers: {}, body, url: request.url });
        return await source.client.send(request, how);
      },
    };
    const { pages } = await readHeld(api, { ...source, client }, { pick: latest });
    expect(idsOf(pages).flat()).toEqual([1, 2, 3]);
    expect(api.asked).toEqual(asked);
    expect(api.aborted).toEqual(['2']);
    expect(api.running()).toBe(0);
  });

  test('waits while the pages in front of it wait for the consumer', async () => {
    const api = createHeldClient('page', chain(9));
    const pages = readPages(heldSource(api, { resource: byToken }), { position: null, signal });
    const first = pages.next();
    for (const page of ['', '2', '3', '4']) {
      await expect.poll(() => api.open()).toEqual([page]);
      api.release(page);
    }
    await first;
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(api.open()).toEqual([]);
    await pages.next();
    await expect.poll(() => api.open()).toEqual(['5']);
    await pages.return();
    expect(api.aborted).toEqual(['5']);
  });

  test('is requested again when the decoded response names another page', async () => {
    // With two lists: what stands behind the other one seems to stand behind the records.
    const misleading = (url: URL): HeldResponse => {
      const page = pageOf(url);
      const found = { data: [{ id: page }], next: page < 5 ? `${page + 1}` : null };
      return { body: { found, other: { data: [], next: 'x' } } };
    };
    const resource = {
      response: { records: 'found.data' },
      pagination: { ...byToken.pagination, next: 'body.found.next' },
    };
    const { ids, error, api } = await readEarly(misleading, { resource });
    expect(error).toBeNull();
    expect(ids).toEqual([1, 2, 3, 4, 5]);
    expect(api.asked.filter((page) => page !== 'x')).toEqual(five);
    // The next guess comes 17 pages after one that was wrong.
    expect(api.aborted).toEqual(['x']);
  });

  test('waits for its place where the API takes one request at a time', async () => {
    const api = createHeldClient('page', chain(5));
    const source = heldSource(api, { resource: byToken });
    const alone = { ...source, client: withConcurrencyMax(source.client, 1) };
    const { pages } = await readHeld(api, alone, { pick: earliest });
    expect(idsOf(pages).flat()).toEqual([1, 2, 3, 4, 5]);
    expect([api.asked, api.openMax()]).toEqual([five, 1]);
  });

  test('is requested in vain once, not at the end of every window', async () => {
    const pageIn = pageFrom(() => many);
    const misleading = (url: URL): HeldResponse => {
      const { data } = pageIn(url).body;
      return { body: { found: { data, next: null }, other: { data: [], next: 'x' } } };
    };
    const resource = {
      ...windows,
      response: { records: 'found.data' },
      pagination: { ...byToken.pagination, next: 'body.found.next' },
    };
    const { api } = await readEarly(misleading, { resource });
    expect(api.asked.length).toBeGreaterThan(5);
    expect(api.asked.filter((page) => page === 'x')).toEqual(['x']);
  });

  test.each([
    ['to wait longer than a worker sleeps', new ThrottledError(60_000), 'Rate limited'],
    ['that the source is down', new AppError('source_unavailable', 'down'), 'down'],
  ])('fails the read only at its turn when the client reports %s', async (_, failure, message) => {
    const api = createHeldClient('page', chain(3));
    const pages = readPages(heldSource(api, { resource: byToken }), { position: null, signal });
    const first = pages.next();
    await expect.poll(() => api.open()).toEqual(['']);
    api.release('');
    await expect.poll(() => api.open()).toEqual(['2']);
    api.release('2', failure);
    expect(idsOf([(await first).value as PageRead])).toEqual([[1]]);
    const error: unknown = await pages.next().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(failure.constructor);
    expect(error).toHaveProperty('message', expect.stringContaining(message));
    expect(api.asked).toEqual(['', '2']);
  });
});
