import { describe, expect, test } from 'vitest';
import { createHeldClient, type HeldClient } from '../request/held-client-fixture.ts';
import type { Source } from '../source.ts';
import { idsOf, inQuery } from '../source-fixture.ts';
import { earliest, fast, readHeld, useHeldSource } from './pages-ahead-fixture.ts';
import type { ReadOptions } from './read-pages.ts';

const heldSource = useHeldSource();

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
  ])('is sent for %s, whose next page only the response gives', async (_, pagination) => {
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

  test('is sent while the reader may not fetch several', async () => {
    const api = createHeldClient('page', numbered);
    expect(await readTwenty(api, heldSource(api, { resource: numbers }), { mayFetchSeveral: () => false })).toEqual(
      alone,
    );
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
