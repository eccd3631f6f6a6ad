import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../errors.ts';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { ThrottledError } from '../../http/client.ts';
import { withConcurrencyMax } from '../../http/concurrency.ts';
import { createHeldClient, type HeldClient, type HeldResponse } from '../request/held-client-fixture.ts';
import type { Source } from '../source.ts';
import { idsOf, inQuery, pagesOf, sourceOf } from '../source-fixture.ts';
import { type PageRead, type ReadOptions, readPages } from './read-pages.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const { signal } = new AbortController();
const fast = { requests: 1000, perSeconds: 1, maxConcurrent: 8 };
const size = 5;

/** `count` records, the oldest first. */
const recordsOf = (count: number) =>
  Array.from({ length: count }, (_, no) => ({ id: no + 1, at: new Date(Date.UTC(2025, 0, 1, 0, no)).toISOString() }));

type Parts = Omit<Parameters<typeof sourceOf>[0], 'api' | 'evaluator'>;

const heldSource = ({ client }: HeldClient, { resource, http }: Parts, overrides: Partial<Source> = {}): Source =>
  sourceOf(
    { api: { origin: 'https://api.test' }, evaluator, resource, http: { rateLimit: fast, ...http } },
    { client, ...overrides },
  );

/** All pages, while `pick` chooses which of the open requests is answered next. */
async function readHeld(
  api: HeldClient,
  source: Source,
  { pick, ...options }: Partial<ReadOptions> & { readonly pick: (open: readonly string[]) => string | undefined },
): Promise<{ readonly pages: readonly PageRead[]; readonly error: unknown }> {
  const pages: PageRead[] = [];
  let error: unknown = null;
  let over = false;
  const reading = (async () => {
    for await (const page of readPages(source, { position: null, signal, ...options })) pages.push(page);
  })()
    .catch((failure: unknown) => {
      error = failure;
    })
    .finally(() => {
      over = true;
    });
  while (!over) {
    // Every request that can be made is made before one of them is answered.
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    const next = pick(api.open());
    if (next !== undefined) api.release(next);
  }
  await reading;
  return { pages, error };
}

const latest = (open: readonly string[]) => open.at(-1);
const earliest = (open: readonly string[]) => open[0];

/** Any of the open ones, the same ones for the same seed. */
function anyOf(seed: number) {
  let state = seed;
  return (open: readonly string[]) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return open[Math.floor((state / 2 ** 31) * open.length)];
  };
}

const byPage = { response: { records: 'data' }, pagination: { kind: 'page', size, inject: inQuery('page') } };
const counted = { ...byPage, pagination: { ...byPage.pagination, totalPages: 'body.pages' } };
const byOffset = { response: { records: 'data' }, pagination: { kind: 'offset', size, inject: inQuery('offset') } };
const ascending = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' };

/** Answers as an API with page numbers or offsets does. */
const pageFrom =
  (all: () => readonly { readonly at: string }[], give: (at: number) => number = () => size) =>
  ({ searchParams: query }: URL) => {
    const since = query.get('since') ?? '';
    const until = query.get('until') ?? '9';
    const within = all().filter(({ at }) => at >= since && at < until);
    const offset = query.has('page') ? (Number(query.get('page')) - 1) * size : Number(query.get('offset'));
    const data = within.slice(offset, offset + give(offset));
    const { length } = within;
    return { body: { data, total: length, pages: Math.ceil(length / size), more: offset + size < length } };
  };

/** The same, but the first request for page 9 finds its window expired. */
const expiring = (): ((url: URL) => HeldResponse) => {
  let times = 0;
  const response = pageFrom(() => many);
  return (url) => {
    if (url.searchParams.get('page') === '9') times += 1;
    return url.searchParams.get('page') === '9' && times === 1 ? { status: 410, body: null } : response(url);
  };
};

/** A resource, how its position is called in the query, and an API for it. */
interface Case {
  readonly name: string;
  readonly parameter: 'page' | 'offset';
  readonly resource: Readonly<Record<string, unknown>>;
  /** A new API. */
  readonly response: () => (url: URL) => HeldResponse;
  /** Requests beyond those that a read one by one makes, at most. */
  readonly inVain: number;
}

const many = recordsOf(203);
const windows = {
  request: { path: '/items', query: { since: '{{ window.from }}', until: '{{ window.to }}' } },
  incremental: { ...ascending, initial: '2025-01-01', window: { size: 'PT45M' } },
};
const cases: readonly Case[] = [
  {
    name: 'pages up to a short one',
    parameter: 'page',
    resource: byPage,
    response: () => pageFrom(() => many),
    inVain: 7,
  },
  {
    name: 'pages whose number the API gives',
    parameter: 'page',
    resource: counted,
    response: () => pageFrom(() => many),
    inVain: 0,
  },
  {
    name: 'pages until the API says stop',
    parameter: 'page',
    resource: { ...byPage, pagination: { ...byPage.pagination, stopWhen: 'body.more = false' } },
    response: () => pageFrom(() => many),
    inVain: 7,
  },
  {
    name: 'more pages than it may have',
    parameter: 'page',
    resource: { ...byPage, pagination: { ...byPage.pagination, maxPages: 20 } },
    response: () => pageFrom(() => many),
    inVain: 0,
  },
  {
    name: 'offsets up to a total',
    parameter: 'offset',
    resource: { ...byOffset, pagination: { ...byOffset.pagination, total: 'body.total' } },
    response: () => pageFrom(() => many),
    inVain: 0,
  },
  {
    name: 'offsets with overlap',
    parameter: 'offset',
    resource: { ...byOffset, pagination: { ...byOffset.pagination, overlap: 2 } },
    response: () => pageFrom(() => many),
    inVain: 7,
  },
  {
    name: 'offsets that grow by what is returned, which is less than asked for',
    parameter: 'offset',
    resource: { ...byOffset, pagination: { ...byOffset.pagination, total: 'body.total' } },
    response: () =>
      pageFrom(
        () => many,
        () => 3,
      ),
    inVain: 0,
  },
  {
    name: 'offsets that grow by what is returned, which differs',
    parameter: 'offset',
    resource: { ...byOffset, pagination: { ...byOffset.pagination, total: 'body.total' } },
    response: () =>
      pageFrom(
        () => many,
        (at) => size - (((at * 7919) % 13) % 3),
      ),
    inVain: 8,
  },
  {
    name: 'offsets that grow by the size, of pages that are filtered afterwards',
    parameter: 'offset',
    resource: { ...byOffset, pagination: { ...byOffset.pagination, step: 'size', total: 'body.total' } },
    response: () =>
      pageFrom(
        () => many,
        (at) => size - (at % 3),
      ),
    inVain: 0,
  },
  {
    name: 'pages of several windows',
    parameter: 'page',
    resource: { ...byPage, ...windows },
    response: () => pageFrom(() => many),
    inVain: 20,
  },
  {
    name: 'pages of windows that are split',
    parameter: 'page',
    resource: {
      ...byPage,
      ...windows,
      response: { records: 'data', total: 'body.total' },
      incremental: { ...windows.incremental, resultCap: { records: 30, onReached: 'split' } },
    },
    response: () => pageFrom(() => many),
    inVain: 20,
  },
  {
    name: 'pages of a window that has to be begun again',
    parameter: 'page',
    resource: {
      ...counted,
      pagination: { ...counted.pagination, onExpired: { status: [410], action: 'restart_window' } },
    },
    response: expiring,
    inVain: 7,
  },
  {
    name: 'pages that the API gives again from the ninth on',
    parameter: 'page',
    resource: byPage,
    response: () => (url) => {
      const from = Math.min(Number(url.searchParams.get('page')), 9) * size;
      return { body: { data: many.slice(from, from + size) } };
    },
    inVain: 5,
  },
];

describe.each(cases)('a read of $name', ({ parameter, resource, response, inVain }) => {
  const now = () => new Date('2025-01-01T05:00:00.000Z');

  test.each([
    ['the last one asked for is answered first', latest],
    ['the first one is answered first', earliest],
    ['answers come in any order', anyOf(1)],
    ['answers come in another order', anyOf(2)],
  ])('is what it is one by one when %s', async (_, pick) => {
    const oneByOne = createHeldClient(parameter, response());
    const atOnce = createHeldClient(parameter, response());
    const expected = await readHeld(oneByOne, heldSource(oneByOne, { resource }, { now }), { pick, lookAhead: 0 });
    const { pages, error } = await readHeld(atOnce, heldSource(atOnce, { resource }, { now }), { pick });
    expect(oneByOne.openMax()).toBe(1);
    expect(pages).toEqual(expected.pages);
    expect(error).toEqual(expected.error);
    expect(atOnce.openMax()).toBeGreaterThanOrEqual(3);
    expect(atOnce.openMax()).toBeLessThanOrEqual(8);
    expect(atOnce.asked.length - oneByOne.asked.length).toBeLessThanOrEqual(inVain);
    expect(atOnce.running()).toBe(0);
  });
});

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

  test('lose nothing when a record comes in at the head of the list while a later page is answered first', async () => {
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

describe('one request at a time', () => {
  const numbered = (url: URL) => ({ body: { data: [{ id: Number(url.searchParams.get('page')) }] } });
  let token = 0;
  const tokens = () => {
    token += 1;
    return { body: { data: [{ id: token }], next: `t${token}` } };
  };
  const readTwenty = async (api: HeldClient, source: Source, options: Partial<ReadOptions> = {}) => {
    let left = 20;
    const { pages } = await readHeld(api, source, { ...options, pick: earliest, enough: () => left-- === 0 });
    return { pages: pages.length, asked: api.asked.length, openMax: api.openMax() };
  };
  const alone = { pages: 20, asked: 20, openMax: 1 };
  const numbers = { response: { records: 'data' }, pagination: { kind: 'page', inject: inQuery('page') } };

  test.each([
    ['cursor', { kind: 'cursor', next: 'body.next', inject: inQuery('page') }],
    ['next_url', { kind: 'next_url', next: "'/items?page=' & body.next" }],
    ['keyset', { kind: 'keyset', field: 'id', inject: inQuery('page') }],
  ])('is sent for %s, whose next page only the answer gives', async (_, pagination) => {
    token = 0;
    const api = createHeldClient('page', tokens);
    expect(await readTwenty(api, heldSource(api, { resource: { response: { records: 'data' }, pagination } }))).toEqual(
      alone,
    );
  });

  test('is sent where the API takes no more', async () => {
    const api = createHeldClient('page', numbered);
    const http = { rateLimit: { ...fast, maxConcurrent: 1 } };
    expect(await readTwenty(api, heldSource(api, { resource: numbers, http }))).toEqual(alone);
  });

  test('is sent where the others would only wait for their tokens', async () => {
    const api = createHeldClient('page', numbered);
    const http = { rateLimit: { requests: 30, perSeconds: 60, maxConcurrent: 8 } };
    expect(await readTwenty(api, heldSource(api, { resource: numbers, http }))).toEqual(alone);
  });

  test('is sent for a request whose own bucket is as slow', async () => {
    const api = createHeldClient('page', numbered);
    const request = { path: '/items', rateLimit: { requests: 30, perSeconds: 60 } };
    expect(await readTwenty(api, heldSource(api, { resource: { ...numbers, request } }))).toEqual(alone);
  });

  test('is sent while it is not its turn', async () => {
    const api = createHeldClient('page', numbered);
    expect(await readTwenty(api, heldSource(api, { resource: numbers }), { isTurn: () => false })).toEqual(alone);
  });

  test('is sent when nothing is to be read ahead', async () => {
    const api = createHeldClient('page', numbered);
    expect(await readTwenty(api, heldSource(api, { resource: numbers }), { lookAhead: 0 })).toEqual(alone);
  });

  test('is sent behind a page of more than 4 MB', async () => {
    const text = 'x'.repeat(4_100_000);
    const api = createHeldClient('page', ({ searchParams }) => {
      const id = Number(searchParams.get('page'));
      return { body: { data: [{ id, text: id === 3 ? text : '' }] } };
    });
    const open: (readonly string[])[] = [];
    let left = 8;
    const { pages } = await readHeld(api, heldSource(api, { resource: numbers }), {
      enough: () => left-- === 0,
      pick: (now) => {
        open.push(now);
        return now[0];
      },
    });
    expect(idsOf(pages)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((id) => [id]));
    const ahead = open.filter((now) => now.length > 1).map(([first]) => first);
    expect(ahead).toEqual(['3']);
    // It was on its way when page 3 turned out to be one.
    expect(api.aborted).toEqual(['4']);
  });
});

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
    ['it is not its turn', {}, { isTurn: () => false }],
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
