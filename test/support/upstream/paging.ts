import type { RecordStore, UpstreamRecord } from './records.ts';

/** A response before it is put on the wire. `body` is sent as it is; the content type is JSON unless named. */
export interface UpstreamResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request for one page. */
export interface PageRequest {
  /** The URL as asked for, for the links to the next page. */
  readonly url: URL;
  /** The query, and over it the fields of a JSON body. */
  readonly input: Readonly<Record<string, string | undefined>>;
  readonly store: RecordStore;
}

/** The ways in which the fake API gives its pages; each is the first segment of a path. */
export const pagingKinds = ['link', 'cursor', 'page', 'offset', 'keyset', 'next_url'] as const;
export type PagingKind = (typeof pagingKinds)[number];

/**
 * One page of a collection. `per_page` is 100 unless asked for; `updated_since` (inclusive) and `updated_before`
 * (exclusive) filter. The forms:
 * - `link`: a list; `Link: <…?page=2>; rel="next"`
 * - `cursor`: `{data, next_cursor}`; asked with `cursor`, null at the end
 * - `page`: `{data, page, total_pages}`; asked with `page`, from 1
 * - `offset`: `{data, total}`; asked with `offset`
 * - `keyset`: `{data, has_more}`; asked with `starting_after`, the id of the last record
 * - `next_url`: `{data, links: {next}}`; null at the end
 */
export function pageOf(kind: PagingKind, request: PageRequest): UpstreamResponse {
  const { input, store } = request;
  const all = store.list(input['updated_since'] ?? null, input['updated_before'] ?? null);
  const size = Number(input['per_page'] ?? 100);
  return forms[kind](request, all, size);
}

/** The JSON text of a record, made once. */
export function textOf(record: UpstreamRecord): string {
  const known = texts.get(record);
  if (known !== undefined) return known;
  const text = JSON.stringify(record);
  texts.set(record, text);
  return text;
}

type Form = (request: PageRequest, all: readonly UpstreamRecord[], size: number) => UpstreamResponse;

const forms: Readonly<Record<PagingKind, Form>> = {
  link: (request, all, size) => {
    const { records, next } = numberedPage(request, all, size);
    return { headers: next === null ? {} : { link: `<${next}>; rel="next"` }, body: listOf(records) };
  },
  cursor: ({ input }, all, size) => {
    const from = Number(atob(input['cursor'] ?? btoa('0')));
    const next = from + size < all.length ? btoa(String(from + size)) : null;
    return { body: `{"data":${listOf(all.slice(from, from + size))},"next_cursor":${JSON.stringify(next)}}` };
  },
  page: (request, all, size) => {
    const { records, page } = numberedPage(request, all, size);
    return { body: `{"data":${listOf(records)},"page":${page},"total_pages":${Math.ceil(all.length / size)}}` };
  },
  offset: ({ input }, all, size) => {
    const from = Number(input['offset'] ?? 0);
    return { body: `{"data":${listOf(all.slice(from, from + size))},"total":${all.length}}` };
  },
  keyset: ({ input }, all, size) => {
    const last = input['starting_after'];
    const from = last === undefined ? 0 : all.findIndex((record) => record.id === last) + 1;
    return { body: `{"data":${listOf(all.slice(from, from + size))},"has_more":${from + size < all.length}}` };
  },
  next_url: (request, all, size) => {
    const { records, next } = numberedPage(request, all, size);
    return { body: `{"data":${listOf(records)},"links":${JSON.stringify({ next })}}` };
  },
};

const texts = new WeakMap<UpstreamRecord, string>();

const listOf = (records: readonly UpstreamRecord[]): string => `[${records.map(textOf).join(',')}]`;

function numberedPage({ url, input }: PageRequest, all: readonly UpstreamRecord[], size: number) {
  const page = Number(input['page'] ?? 1);
  const next = new URL(url);
  next.searchParams.set('page', String(page + 1));
  return {
    page,
    records: all.slice((page - 1) * size, page * size),
    next: page * size < all.length ? next.href : null,
  };
}
