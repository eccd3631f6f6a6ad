/** For tests of prefetching: an API with many pages whose responses the test releases, and a source for it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { HeldClient } from '../request/held-client-fixture.ts';
import type { Source } from '../source.ts';
import { inQuery, sourceOf } from '../source-fixture.ts';
import { type PageRead, type ReadOptions, readPages } from './read-pages.ts';

const { signal } = new AbortController();

/** Holds nothing back, with up to eight open requests. */
export const fast = { requests: 1000, perSeconds: 1, maxConcurrent: 8 };

export const size = 5;

export const recordsOf = (count: number) =>
  Array.from({ length: count }, (_, no) => ({ id: no + 1, at: new Date(Date.UTC(2025, 0, 1, 0, no)).toISOString() }));

export type Parts = Omit<Parameters<typeof sourceOf>[0], 'api' | 'evaluator'>;

export function useHeldSource() {
  let evaluator: TestEvaluator;
  beforeAll(() => {
    evaluator = createTestEvaluator({ size: 1 });
  });
  afterAll(() => evaluator[Symbol.asyncDispose]());
  return ({ client }: HeldClient, { resource, http }: Parts, overrides: Partial<Source> = {}): Source =>
    sourceOf(
      { api: { origin: 'https://api.test' }, evaluator, resource, http: { rateLimit: fast, ...http } },
      { client, ...overrides },
    );
}

/** `pick` chooses which open request gets its response next. */
export async function readHeld(
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
    // The reader makes all possible requests before one of them gets its response.
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    const next = pick(api.open());
    if (next === undefined) continue;
    const ended = api.responded.length + api.aborted.length;
    api.release(next);
    // On a busy machine the reader yields the processor before it takes the response.
    while (!over && api.responded.length + api.aborted.length === ended) await nextTurn();
  }
  await reading;
  return { pages, error };
}

export const latest = (open: readonly string[]) => open.at(-1);

export const earliest = (open: readonly string[]) => open[0];

export const byPage = { response: { records: 'data' }, pagination: { kind: 'page', size, inject: inQuery('page') } };

export const counted = { ...byPage, pagination: { ...byPage.pagination, totalPages: 'body.pages' } };

export const pageFrom =
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

export const many = recordsOf(203);

export const windows = {
  request: { path: '/items', query: { since: '{{ window.from }}', until: '{{ window.to }}' } },
  incremental: {
    kind: 'cursor',
    cursor: { field: 'at', type: 'datetime' },
    order: 'asc',
    initial: '2025-01-01',
    window: { size: 'PT45M' },
  },
};
