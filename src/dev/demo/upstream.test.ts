import { describe, expect, test } from 'vitest';
import { loadCities } from './cities.ts';
import { createCityFeed } from './city-feed.ts';
import { type DemoUpstream, faultyRequests, startDemoUpstream } from './upstream.ts';

const cityCount = 2_000;
const records = loadCities(cityCount);
const headers = { authorization: 'Bearer t0ken' };

const start = () => {
  const feed = createCityFeed(records);
  return startDemoUpstream({ feed: () => feed, token: 't0ken' });
};

/** Every page from `path` on along `Link`, faults repeated. */
async function readAll(upstream: DemoUpstream, path: string) {
  const pages: { id: number; updated_at: string }[][] = [];
  for (let url: string | undefined = `${upstream.url}${path}`; url !== undefined; ) {
    const response: Response = await fetch(url, { headers });
    if (!response.ok) continue;
    pages.push((await response.json()) as (typeof pages)[number]);
    url = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
  }
  return pages;
}

describe('the data', () => {
  test('is at least 100,000 cities, and the broken copies say that they are made up', () => {
    const all = loadCities();
    expect(all.length).toBeGreaterThan(100_000);
    expect(all.filter((record) => record.made_up !== undefined)).toHaveLength(3);
  });

  test('is the same on every load, in the order of updated_at and id', () => {
    expect(loadCities(cityCount)).toEqual(records);
    expect(records.map(({ id }) => id)).toEqual(records.map((_, index) => index + 1));
    expect([...records].sort((a, b) => a.updated_at.localeCompare(b.updated_at) || a.id - b.id)).toEqual(records);
  });
});

describe('GET /cities', () => {
  test('gives every record once when Link is followed to its end', async () => {
    await using upstream = await start();
    const pages = await readAll(upstream, '/cities?per_page=300');
    expect(pages.map((page) => page.length)).toEqual([300, 300, 300, 300, 300, 300, 201]);
    expect(pages.flat()).toEqual(records);
    expect(Object.values(upstream.journal().pages)).toEqual(Array(7).fill(1));
  });

  test('gives from updated_since on, inclusively', async () => {
    await using upstream = await start();
    const since = records.at(-7)?.updated_at ?? '';
    const expected = records.filter((record) => record.updated_at >= since);
    expect((await readAll(upstream, `/cities?updated_since=${since}`)).flat()).toEqual(expected);
  });

  test('gives an empty list without Link behind the end', async () => {
    await using upstream = await start();
    const response = await fetch(`${upstream.url}/cities?updated_since=2030-01-01T00:00:00Z`, { headers });
    expect([await response.json(), response.headers.get('link')]).toEqual([[], null]);
  });

  test('responds with 401 without the token and counts no such request as a page', async () => {
    await using upstream = await start();
    const response = await fetch(`${upstream.url}/cities`);
    expect(response.status).toBe(401);
    expect(upstream.journal()).toEqual({ responses: { 401: 1 }, pages: {} });
  });

  test.each(['per_page=0', 'per_page=1001', 'page=x', 'updated_since=soon'])(
    'responds with 400 to %s',
    async (query) => {
      await using upstream = await start();
      expect((await fetch(`${upstream.url}/cities?${query}`, { headers })).status).toBe(400);
    },
  );

  test('responds with one 429 that says for how long and one 503, then never again', async () => {
    await using upstream = await start();
    const pages = await readAll(upstream, '/cities?per_page=20');
    expect(pages.flat()).toEqual(records);
    const { responses } = upstream.journal();
    expect(responses).toEqual({ 200: pages.length, 429: 1, 503: 1 });
    expect([...faultyRequests.values()]).toEqual([{ status: 429, resetAfter: '0.25' }, { status: 503 }]);
  });
});

describe('POST /control/touch', () => {
  const touch = async (upstream: DemoUpstream, count: number) => {
    const body = JSON.stringify({ count });
    const response = await fetch(`${upstream.url}/control/touch`, { method: 'POST', body });
    return response.json();
  };

  test('moves other records behind the rest each time, and changes nothing but updated_at', async () => {
    await using upstream = await start();
    expect(await touch(upstream, 2)).toEqual({ touched: [1, 2] });
    expect(await touch(upstream, 1)).toEqual({ touched: [3] });
    const all = (await readAll(upstream, '/cities?per_page=1000')).flat();
    expect(all.slice(-3).map(({ id }) => id)).toEqual([1, 2, 3]);
    const without = ({ updated_at: _updatedAt, ...rest }: { id: number; updated_at: string }) => rest;
    expect(all.toSorted((a, b) => a.id - b.id).map(without)).toEqual(records.map(without));
  });

  test('makes an incremental read return just what was touched', async () => {
    await using upstream = await start();
    const before = new Date(Date.now() - 1000).toISOString();
    await touch(upstream, 5);
    const changed = (await readAll(upstream, `/cities?updated_since=${before}`)).flat();
    expect(changed.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
  });
});
