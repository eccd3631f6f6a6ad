/** For tests: a list in this process whose records may come, leave and move between two requests. */

import type { Evaluator } from '../../expressions/evaluation.ts';
import type { Gap } from '../../model/coverage.ts';
import type { HttpClient } from '../../model/http.ts';
import type { ReadPosition } from '../../model/read-position.ts';
import type { Source } from '../source.ts';
import { classified, inQuery, sourceOf } from '../source-fixture.ts';
import { type PageRead, readPages } from './read-pages.ts';

export interface Row {
  readonly id: number;
  readonly at: string;
}

/** The list before a request, numbered from 1. */
export type Change = (list: readonly Row[], request: number) => readonly Row[];

export const at = (minute: number): string => new Date(Date.UTC(2025, 0, 1, 0, minute)).toISOString();

export const listOf = (count: number): readonly Row[] =>
  Array.from({ length: count }, (_, no) => ({ id: no + 1, at: at(no) }));

export const without = (list: readonly Row[], ...ids: readonly number[]): readonly Row[] =>
  list.filter((row) => !ids.includes(row.id));

export const toTheEnd = (list: readonly Row[], id: number, now: string): readonly Row[] => [
  ...without(list, id),
  { id, at: now },
];

export const byPage = { kind: 'page', size: 2, inject: inQuery('page') };
export const byOffset = { kind: 'offset', size: 3, inject: inQuery('offset') };
export const ascending = {
  request: { path: '/items', query: { since: '{{ window.from }}' } },
  incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', initial: at(0) },
};
/** For an API that cannot filter. */
export const newestFirst = {
  request: { path: '/items' },
  incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'desc', clientFilter: true },
};

export interface MovingRead extends Partial<Omit<Source, 'resource'>> {
  readonly evaluator: Evaluator;
  readonly resource: Readonly<Record<string, unknown>>;
  /** Rows that the API leaves out after it has paged. */
  readonly hides?: (row: Row) => boolean;
  /** Number of items on the page of a request from 1, absent: as asked for. */
  readonly sizeOf?: (request: number) => number | undefined;
  /** Status of a page past the end, absent if that is empty. */
  readonly statusBehind?: number;
  readonly position?: ReadPosition | null;
  /** Numbers of the pages after which another process continues. */
  readonly stops?: readonly number[];
}

/** `change` may replace the list before each request. */
export async function readMoving(first: readonly Row[], change: Change, options: MovingRead) {
  const {
    evaluator,
    resource,
    hides = () => false,
    sizeOf,
    statusBehind,
    position = null,
    stops = [],
    ...overrides
  } = options;
  const lists: (readonly Row[])[] = [first];
  const asked: string[] = [];
  const client = clientOf((url) => {
    const list = change(lists.at(-1) ?? first, asked.length + 1);
    lists.push(list);
    asked.push(url.search);
    const { rows, total, more } = pageOf(list, url.searchParams, sizeOf?.(asked.length));
    if (rows.length === 0 && statusBehind !== undefined && asked.length > 1) return { status: statusBehind, body: {} };
    return { status: 200, body: { data: rows.filter((row) => !hides(row)), total, more } };
  });
  const parts = { response: { records: 'data' }, ...resource };
  const http = { rateLimit: { maxConcurrent: 1 } };
  const api = { origin: 'http://list.example' };
  const source = sourceOf({ api, evaluator, resource: parts, http }, { client, ...overrides });
  const pages: PageRead[] = [];
  let error: unknown = null;
  const { signal } = new AbortController();
  let next: { readonly from: ReadPosition | null } | null = { from: position };
  try {
    while (next !== null) {
      const { from }: { readonly from: ReadPosition | null } = next;
      next = null;
      for await (const page of readPages(source, { position: from, signal, lookAhead: 0 })) {
        pages.push(page);
        if (page.positionAfter === null || !stops.includes(pages.length)) continue;
        next = { from: JSON.parse(JSON.stringify(page.positionAfter)) as ReadPosition };
        break;
      }
    }
  } catch (thrown) {
    error = thrown;
  }
  const gaps: readonly Gap[] = [...new Set(pages.flatMap((page) => page.gaps))];
  const records = pages.flatMap((page) => page.records as readonly Row[]);
  const ids = new Set(records.map(({ id }) => id));
  const notes = [...new Set(pages.flatMap((page) => page.notes))];
  return { pages, error, gaps, ids, records, notes, asked, lists };
}

export const numbersOf = (asked: readonly string[]): readonly number[] =>
  asked.map((search) => Number(new URLSearchParams(search).get('page') ?? 1));

function pageOf(list: readonly Row[], query: URLSearchParams, capped: number | undefined) {
  const since = query.get('since') ?? '';
  const found = list.filter((row) => row.at >= since);
  const isByPage = query.has('page');
  const size = capped ?? (isByPage ? byPage.size : byOffset.size);
  const from = isByPage ? (Number(query.get('page')) - 1) * size : Number(query.get('offset') ?? 0);
  return { rows: found.slice(from, from + size), total: found.length, more: from + size < found.length };
}

const clientOf = (reply: (url: URL) => { readonly status: number; readonly body: unknown }): HttpClient => ({
  send: async (request, { classify }) => {
    const { status, body } = reply(request.url);
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const headers = { 'content-type': 'application/json' };
    return await classified({ status, headers, body: bytes, url: request.url }, request, classify);
  },
  logSaved: async () => {},
  logBlocked: async () => {},
  [Symbol.asyncDispose]: async () => {},
});
