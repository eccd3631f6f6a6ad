import { describe, expect, test } from 'vitest';
import { createHeldClient, type HeldResponse } from '../request/held-client-fixture.ts';
import { inQuery } from '../source-fixture.ts';
import {
  byPage,
  counted,
  earliest,
  latest,
  many,
  pageFrom,
  readHeld,
  size,
  useHeldSource,
  windows,
} from './pages-ahead-fixture.ts';

const heldSource = useHeldSource();

/** Any of the open ones, the same ones for the same seed. */
function anyOf(seed: number) {
  let state = seed;
  return (open: readonly string[]) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return open[Math.floor((state / 2 ** 31) * open.length)];
  };
}

const byOffset = { response: { records: 'data' }, pagination: { kind: 'offset', size, inject: inQuery('offset') } };

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
    ['the last one asked for comes first', latest],
    ['the first one comes first', earliest],
    ['responses come in any order', anyOf(1)],
    ['responses come in another order', anyOf(2)],
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
