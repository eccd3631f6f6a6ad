import { describe, expect, test } from 'vitest';
import { generateRecords, startUpstream, type Upstream, type UpstreamRecord } from './upstream.ts';

const records = generateRecords(25);
const start = () => startUpstream({ collections: { records, empty: [] } });

async function get(upstream: Upstream, path: string, init?: RequestInit) {
  const response = await fetch(upstream.url + path, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as never };
}

interface Wrapped {
  readonly data: readonly UpstreamRecord[];
  readonly next_cursor?: string | null;
  readonly total_pages?: number;
  readonly total?: number;
  readonly has_more?: boolean;
  readonly links?: { readonly next: string | null };
}

/** Reads a collection to its end in one paging form; gives the pages. */
const readers: Record<string, (upstream: Upstream) => Promise<(readonly UpstreamRecord[])[]>> = {
  link: async (upstream) => {
    const pages: (readonly UpstreamRecord[])[] = [];
    for (let url: string | undefined = '/link/records?per_page=10'; url !== undefined; ) {
      const { headers, body } = await get(upstream, url);
      pages.push(body);
      url = /^<http:\/\/[^/]+([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
    }
    return pages;
  },
  cursor: (upstream) =>
    follow(
      upstream,
      '/cursor/records?per_page=10',
      ({ next_cursor }) => next_cursor && `&cursor=${encodeURIComponent(next_cursor)}`,
    ),
  page: (upstream) =>
    follow(upstream, '/page/records?per_page=10', ({ total_pages = 0 }, n) => n < total_pages && `&page=${n + 1}`),
  offset: (upstream) =>
    follow(upstream, '/offset/records?per_page=10', ({ total = 0 }, n) => n * 10 < total && `&offset=${n * 10}`),
  keyset: (upstream) =>
    follow(
      upstream,
      '/keyset/records?per_page=10',
      ({ has_more, data }) => has_more && `&starting_after=${data.at(-1)?.id}`,
    ),
  next_url: (upstream) =>
    follow(
      upstream,
      '/next_url/records?per_page=10',
      ({ links }) => links?.next && new URL(links.next).search.replace('?', '&'),
    ),
};

async function follow(
  upstream: Upstream,
  path: string,
  next: (reply: Wrapped, pagesRead: number) => string | false | null | undefined,
) {
  const pages: (readonly UpstreamRecord[])[] = [];
  for (let suffix: string | false | null | undefined = ''; typeof suffix === 'string'; ) {
    const body: Wrapped = (await get(upstream, path + suffix)).body;
    pages.push(body.data);
    suffix = next(body, pages.length) || null;
  }
  return pages;
}

describe('paging', () => {
  test.each(Object.keys(readers))('gives every record once, in order, as %s', async (kind) => {
    await using upstream = await start();
    const pages = (await readers[kind]?.(upstream)) ?? [];
    expect(pages.map((page) => page.length)).toEqual([10, 10, 5]);
    expect(pages.flat()).toEqual(records);
  });

  test('joins the JSON body of a POST to the query', async () => {
    await using upstream = await start();
    const body = JSON.stringify({ per_page: 2, updated_since: records[20]?.updated_at });
    const reply: Wrapped = (await get(upstream, '/cursor/records', { method: 'POST', body })).body;
    expect(reply.data.map(({ id }) => id)).toEqual(['r000021', 'r000022']);
  });

  test('responds with 404 for a collection that is not there', async () => {
    await using upstream = await start();
    expect((await get(upstream, '/link/nothing')).status).toBe(404);
  });
});

describe('records', () => {
  test('are the same on every call, and as large as asked for', () => {
    expect(generateRecords(3)).toEqual(generateRecords(3));
    expect(generateRecords(3, { bytes: 500 }).map((record) => JSON.stringify(record).length)).toEqual([500, 500, 500]);
  });

  test('that are touched come last, and alone after the time of the touch', async () => {
    await using upstream = await start();
    upstream.store().touch(['r000003'], { name: 'changed' }, new Date('2026-01-01T00:00:00Z'));
    const all: Wrapped = (await get(upstream, '/cursor/records')).body;
    expect(all.data.at(-1)).toMatchObject({ id: 'r000003', name: 'changed' });
    const changed: Wrapped = (await get(upstream, '/cursor/records?updated_since=2026-01-01T00:00:00Z')).body;
    expect(changed.data.map(({ id }) => id)).toEqual(['r000003']);
  });

  test('can be asked for one by one', async () => {
    await using upstream = await start();
    expect((await get(upstream, '/items/records/r000002')).body).toEqual(records[1]);
    expect((await get(upstream, '/items/records/gone')).status).toBe(404);
  });
});

describe('faults', () => {
  test('hit the request they are planned for, and no other', async () => {
    await using upstream = await start();
    upstream.failAt(2, { kind: 'status', status: 429, retryAfter: 7 });
    const replies = [
      await get(upstream, '/link/records'),
      await get(upstream, '/link/records'),
      await get(upstream, '/link/records'),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 429, 200]);
    expect(replies[1]?.headers.get('retry-after')).toBe('7');
    expect(upstream.timesServed()).toEqual(new Map([['/link/records', 2]]));
  });

  test('give Retry-After as an HTTP date when it is a date', async () => {
    await using upstream = await startUpstream({
      issues: { 1: { kind: 'status', status: 503, retryAfter: new Date('2030-01-02T03:04:05Z') } },
    });
    expect((await get(upstream, '/link/records')).headers.get('retry-after')).toBe('Wed, 02 Jan 2030 03:04:05 GMT');
  });

  test.each(['before', 'midway'] as const)(
    'reset the connection %s the response, which the journal shows',
    async (when) => {
      await using upstream = await startUpstream({ collections: { records }, issues: { 1: { kind: 'reset', when } } });
      await expect(get(upstream, '/link/records')).rejects.toThrow(/fetch failed|terminated/);
      expect(upstream.journal).toMatchObject([{ nth: 1, url: '/link/records', status: null }]);
    },
  );

  test('send the right response byte by byte', async () => {
    const issues = { 1: { kind: 'drip', bytes: 2_000, everyMs: 1 } } as const;
    await using upstream = await startUpstream({ collections: { records }, issues });
    expect((await get(upstream, '/link/records')).body).toEqual(records);
  });

  test('make a response as long as asked for and keep it valid', async () => {
    const issues = { 1: { kind: 'huge', bytes: 1_000_000 } } as const;
    await using upstream = await startUpstream({ collections: { records }, issues });
    const text = await (await fetch(`${upstream.url}/link/records`)).text();
    expect(text).toHaveLength(1_000_000);
    expect(JSON.parse(text)).toEqual(records);
  });
});

describe('gates and the journal', () => {
  test('hold one response until it is released, and let others pass', async () => {
    await using upstream = await start();
    const gate = upstream.hold(1);
    const held = get(upstream, '/link/records');
    await gate.reached;
    expect((await get(upstream, '/items/records/r000001')).status).toBe(200);
    expect(upstream.journal.map(({ status }) => status)).toEqual([null, 200]);
    gate.release();
    expect((await held).status).toBe(200);
  });

  test('hold every response while paused', async () => {
    await using upstream = await start();
    upstream.pause();
    const held = get(upstream, '/link/records');
    await upstream.requested(1);
    expect(upstream.journal[0]?.responseAt).toBeNull();
    upstream.resume();
    expect((await held).status).toBe(200);
  });

  test('end with the API, and the held request with them', async () => {
    const upstream = await start();
    const gate = upstream.hold(1);
    const held = get(upstream, '/link/records');
    const end = async () => {
      await gate.reached;
      await upstream[Symbol.asyncDispose]();
    };
    await Promise.all([expect(held).rejects.toThrow('fetch failed'), end()]);
  });

  test('echo carries the headers, the query and the body of the request', async () => {
    await using upstream = await start();
    const headers = { authorization: 'Bearer s3cret' };
    const reply = await get(upstream, '/echo?key=s3cret', { method: 'POST', headers, body: 'body s3cret' });
    expect(reply.headers.get('x-echo-authorization')).toBe('Bearer s3cret');
    expect(reply.body).toMatchObject([{ url: '/echo?key=s3cret', headers, body: 'body s3cret' }]);
  });

  test('responds with 401 to any other Authorization than the required one', async () => {
    await using upstream = await startUpstream({ authorization: 'Bearer right' });
    const statusWith = async (authorization: string) =>
      (await get(upstream, '/link/records', { headers: { authorization } })).status;
    expect([await statusWith('Bearer wrong'), await statusWith('Bearer right')]).toEqual([401, 200]);
  });

  test('uses the responses of a test first', async () => {
    await using upstream = await startUpstream({
      reply: ({ url }) => (url === '/token' ? { status: 201, body: '{"access_token":"t"}' } : undefined),
    });
    expect(await get(upstream, '/token')).toMatchObject({ status: 201, body: { access_token: 't' } });
    expect((await get(upstream, '/link/records')).status).toBe(200);
  });
});
