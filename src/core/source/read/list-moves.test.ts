import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { Source } from '../source.ts';
import { type ApiRequest, idsOf, inQuery, numberOf, readUntilFailure, sourceOf, startApi } from '../source-fixture.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

type Parts = Readonly<Record<string, unknown>>;
interface Row {
  readonly id: number;
  readonly at: string;
}

const at = (minute: number): string => new Date(Date.UTC(2025, 0, 1, 0, minute)).toISOString();
const listOf = (count: number): readonly Row[] =>
  Array.from({ length: count }, (_, no) => ({ id: no + 1, at: at(no) }));

const http = { rateLimit: { maxConcurrent: 1 } };
const byPage = { kind: 'page', size: 2, inject: inQuery('page') };
const byOffset = { kind: 'offset', size: 3, inject: inQuery('offset') };
const ascending = {
  request: { path: '/items', query: { since: '{{ window.from }}' } },
  incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', initial: at(0) },
};

/** Reads a list that `change` may replace before the request of each number, from 1. */
async function read(
  first: readonly Row[],
  change: (list: readonly Row[], request: number) => readonly Row[],
  { resource, ...overrides }: { readonly resource: Parts } & Partial<Omit<Source, 'resource'>>,
) {
  let list = first;
  let requests = 0;
  const begun: string[] = [];
  await using api = await startApi((request: ApiRequest) => {
    requests += 1;
    list = change(list, requests);
    const since = request.url.searchParams.get('since') ?? '';
    if (numberOf(request, 'page', 1) === 1) begun.push(since);
    const found = list.filter((row) => row.at >= since);
    const size = request.url.searchParams.has('page') ? 2 : numberOf(request, 'limit', 3);
    const from = request.url.searchParams.has('page')
      ? (numberOf(request, 'page', 1) - 1) * size
      : numberOf(request, 'offset', 0);
    return { body: { data: found.slice(from, from + size), total: found.length } };
  });
  const parts = { response: { records: 'data' }, ...resource };
  const { pages, error } = await readUntilFailure(sourceOf({ api, evaluator, resource: parts, http }, overrides));
  const gaps = [...new Set(pages.flatMap((page) => page.gaps))];
  return { pages, error, gaps, ids: new Set(idsOf(pages).flat()), requests, list, begun };
}

const without = (list: readonly Row[], id: number) => list.filter((row) => row.id !== id);
const toTheEnd = (list: readonly Row[], id: number) => [...without(list, id), { id, at: at(500) }];

describe.each([
  ['page numbers', byPage],
  ['offsets', byOffset],
] as const)('a list that moves while it is read by %s', (_, pagination) => {
  test('and deletes a record that was read: the one that slips in front is read', async () => {
    const resource = { pagination };
    const { ids, gaps, error } = await read(listOf(8), (list, request) => (request === 2 ? without(list, 1) : list), {
      resource,
      provesEnd: true,
    });
    expect(error).toBeNull();
    expect(ids).toContain(3);
    expect(ids.size).toBe(8);
    expect(gaps).toEqual([]);
  });

  test('and has a record that changes and goes to the end: all are read, and the watermark passes none', async () => {
    const resource = { ...ascending, pagination };
    const { ids, gaps, pages } = await read(listOf(9), (list, request) => (request === 2 ? toTheEnd(list, 1) : list), {
      resource,
    });
    expect(ids.size).toBe(9);
    expect(gaps).toEqual([]);
    expect(pages.at(-1)?.watermarkAfter).toBe(at(500));
  });

  test('without end: it says so, and claims no watermark beyond what it has seen whole', async () => {
    const resource = { ...ascending, pagination };
    const { gaps, pages, error } = await read(listOf(40), (list, request) => (request > 1 ? list.slice(1) : list), {
      resource: { ...resource, request: { path: '/items' } },
    });
    expect(error).toBeNull();
    expect(gaps).toEqual(['list_moved']);
    expect(pages.at(-1)?.watermarkAfter).toBeNull();
  });

  test('costs nothing where it is one page, or the spec says that it does not move', async () => {
    const still = (list: readonly Row[]) => list;
    expect((await read(listOf(1), still, { resource: { ...ascending, pagination } })).requests).toBe(1);
    const stable = { ...ascending, pagination: { ...pagination, stable: true } };
    expect((await read(listOf(5), still, { resource: stable })).requests).toBe(pagination.size === 2 ? 3 : 2);
  });
});

test('a record that comes in before makes a full read begin again, which then sees the one that moved back', async () => {
  const back = (list: readonly Row[]) => [...list.slice(-1), ...list.slice(0, -1)];
  for (const pagination of [byPage, byOffset]) {
    const { ids, gaps } = await read(listOf(8), (list, request) => (request === 2 ? back(list) : list), {
      resource: { pagination },
      provesEnd: true,
    });
    expect(ids.size).toBe(8);
    expect(gaps).toEqual([]);
  }
});

test('offsets that overlap by more than is remembered of a page come to the end', async () => {
  const pagination = { kind: 'offset', size: 14, overlap: 10, inject: byOffset.inject };
  const still = (list: readonly Row[]) => list;
  const request = { path: '/items', query: { since: '{{ window.from }}', limit: '{{ page.size }}' } };
  const { ids, gaps, requests } = await read(listOf(30), still, { resource: { ...ascending, request, pagination } });
  expect(ids.size).toBe(30);
  expect(gaps).toEqual([]);
  expect(requests).toBeLessThan(12);
});

test.each([
  ['a read that the next run corrects', {}, {}],
  ['a read that proves what is deleted', {}, { provesEnd: true }],
  ['an ascending list', ascending, {}],
] as const)(
  'an overlap of one item notices that several items of the page before are gone: %s',
  async (_, parts, by) => {
    const pagination = { kind: 'offset', size: 4, overlap: 1, inject: byOffset.inject };
    const request = { path: '/items', query: { ...ascending.request.query, limit: '{{ page.size }}' } };
    const resource = { ...parts, request, pagination };
    for (const left of [
      [1, 2],
      [3, 4],
      [1, 4],
    ]) {
      const move = (list: readonly Row[], no: number) => (no === 2 ? left.reduce(without, list) : list);
      const { ids, gaps, error } = await read(listOf(12), move, { resource, ...by });
      expect(error).toBeNull();
      expect({ left, count: ids.size, gaps }).toEqual({ left, count: 12, gaps: [] });
    }
  },
);

test('page numbers of an ascending list begin anew at a value that was reached, and not at the first record', async () => {
  const move = (list: readonly Row[], request: number) => (request === 6 ? toTheEnd(list, 9) : list);
  const { ids, begun, gaps } = await read(listOf(12), move, { resource: { ...ascending, pagination: byPage } });
  expect(ids.size).toBe(12);
  expect(gaps).toEqual([]);
  expect(begun.at(-1)).toBe(at(6));
});

describe('a list that changes at random between two requests', () => {
  /** Numbers below `below` that follow from a seed. */
  const randomOf = (seed: number) => {
    let state = seed * 2_654_435_761;
    return (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((state / 2 ** 31) * below);
    };
  };

  const changing = (seed: number, upTo: number) => {
    const random = randomOf(seed);
    let next = 1000;
    return (list: readonly Row[], request: number): readonly Row[] => {
      if (request === 1 || request > upTo || random(3) > 0) return list;
      const row = list[random(list.length)];
      if (row === undefined) return list;
      const place = random(list.length);
      const rest = without(list, row.id);
      next += 1;
      const change = random(3);
      if (change === 0) return rest;
      if (change === 1) return list.toSpliced(place, 0, { id: next, at: row.at });
      return rest.toSpliced(place, 0, row);
    };
  };

  const kinds: readonly (readonly [string, Parts])[] = [
    ['page numbers', byPage],
    ['counted page numbers', { ...byPage, totalPages: '$ceil(body.total / 2)' }],
    ['offsets', byOffset],
    ['counted offsets', { ...byOffset, total: 'body.total' }],
  ];
  test.each(kinds)(
    'every record that was there all the time is read, or the read says a gap: %s',
    async (_, pagination) => {
      for (let seed = 1; seed <= 60; seed += 1) {
        const first = listOf(4 + (seed % 11));
        const resource = { pagination, response: { records: 'data', total: 'total' } };
        const { ids, gaps, list, error } = await read(first, changing(seed, 12), { resource, provesEnd: true });
        const lived = first.filter(({ id }) => list.some((row) => row.id === id)).map(({ id }) => id);
        const missed = lived.filter((id) => !ids.has(id));
        expect(error).toBeNull();
        if (gaps.length === 0) expect({ seed, missed }).toEqual({ seed, missed: [] });
      }
    },
    60_000,
  );
});
