/** The list of a vendor, whose records may come, leave and move between two pages. */

import { digestOf } from '../../../src/core/crypto/digest.ts';
import { valueAt, withValueAt } from '../../../src/core/json/dotted-path.ts';
import { textOf } from '../../../src/core/json/json-text.ts';
import type { HttpRequest, HttpResponse } from '../../../src/core/model/http.ts';
import { isForAddress } from '../../../src/core/spec-tests/match-request.ts';
import { createMockApi, type MockApi } from '../../../src/core/spec-tests/mock-api.ts';
import { type Example, itemOf, keyOf, patternOf, type Row } from './made-records.ts';
import { type PageFacts, saysOf } from './vendor-counts.ts';

/** What a vendor shows, and what happens to it. */
export interface VendorList {
  /** In the order of the list. */
  rows: readonly Row[];
  /** The clock of the vendor. */
  now: number;
  /** Called before each page that is not the first one of its list, with its number among those of the run. */
  onLaterPage: ((no: number, now: number) => void) | null;
  /** Responds to a request with an `ETag` and, for the same one, with 304. */
  readonly isConditional: boolean;
}

/** Items of a page. */
export const pageSize = ({ resource: { pagination } }: Example): number =>
  4 + (pagination.kind === 'offset' ? (pagination.overlap ?? 0) : 0);

/** The API of a run: the list, and for everything else the mocks of the test. */
export function vendorApi(key: string, example: Example, list: VendorList): MockApi {
  const { resource, test, mock } = example;
  const others = createMockApi(test.mocks, new Date(list.now));
  let laterPages = 0;
  const response = (request: HttpRequest, basePath: string): HttpResponse => {
    if (!isForAddress(mock.request, request, basePath)) return others.response(request, basePath);
    const first = pageStart(example);
    const position = Number(positionIn(example, request) ?? first);
    if (position > first && !isDeletedList(example, request)) {
      laterPages += 1;
      list.onLaterPage?.(laterPages, list.now);
    }
    const size = pageSize(example);
    const found = isDeletedList(example, request) ? [] : list.rows.filter(within(example, request));
    const isByPage = resource.pagination.kind !== 'offset';
    const from = (position - first) * (isByPage ? size : 1);
    const items = found.slice(from, from + size).map((row) => itemOf(example, row));
    const page: PageFacts = { url: request.url, position, from, size, count: items.length, total: found.length };
    const { body = {}, headers = {} } = saysOf(key, page);
    return reply(request, list, { headers, body: bodyOf(example, items, body) });
  };
  return { response, requests: [], noResponse: null, unused: [] };
}

/** The API of a resource that is read for each record of a list: each of them has one record. */
export function familyApi(key: string, parent: Example, child: Example, list: VendorList): MockApi {
  const parents = vendorApi(key, parent, list);
  const path = new RegExp(`${patternOf(child.resource.request.path ?? '')}$`);
  const response = (request: HttpRequest, basePath: string): HttpResponse => {
    const [, id] = path.exec(request.url.pathname) ?? [];
    if (id === undefined) return parents.response(request, basePath);
    const items = list.rows.filter((row) => keyOf(parent, row) === id).map((row) => itemOf(child, row));
    const place = { url: request.url, position: pageStart(child), from: 0, size: pageSize(child) };
    const { body = {}, headers = {} } = saysOf(key, { ...place, count: items.length, total: items.length });
    return reply(request, list, { headers, body: bodyOf(child, items, body) });
  };
  return { ...parents, response };
}

function reply(
  request: HttpRequest,
  { now, isConditional }: VendorList,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: unknown },
): HttpResponse {
  const text = JSON.stringify(body);
  const etag = `"${digestOf(text)}"`;
  const sent = { date: new Date(now).toUTCString(), 'content-type': 'application/json', ...headers };
  if (!isConditional) return respond(request, 200, sent, text);
  const isSame = request.headers['if-none-match'] === etag;
  return isSame ? respond(request, 304, { ...sent, etag }, '') : respond(request, 200, { ...sent, etag }, text);
}

const respond = (
  { url }: HttpRequest,
  status: number,
  headers: Readonly<Record<string, string>>,
  text: string,
): HttpResponse => ({ status, url, headers, body: new TextEncoder().encode(text) });

function bodyOf(
  { resource, mock }: Example,
  items: readonly unknown[],
  says: Readonly<Record<string, unknown>>,
): unknown {
  const { records } = resource.response;
  if (records === '$') return items;
  const filled = withValueAt(mock.respond.body, records, items);
  return Object.entries(says).reduce((body, [path, value]) => withValueAt(body, path, value), filled);
}

function pageStart({ resource: { pagination } }: Example): number {
  return pagination.kind === 'offset' ? pagination.start : pagination.kind === 'page' ? pagination.start : 1;
}

/** The position that a request names; a link and a token name a page. */
function positionIn({ resource: { pagination } }: Example, { url, headers, body }: HttpRequest): unknown {
  if (!('inject' in pagination)) return url.searchParams.get('page');
  const { in: place, name } = pagination.inject;
  if (place === 'body') return valueAt(JSON.parse(body ?? '{}'), name);
  return place === 'header' ? headers[name.toLowerCase()] : url.searchParams.get(name);
}

/** Whether a request asks for the list of deleted records, which has the path of the other one. */
function isDeletedList({ resource: { deletes } }: Example, { url }: HttpRequest): boolean {
  if (deletes.mode !== 'endpoint') return false;
  const fixed = Object.entries(deletes.request.query ?? {}).filter(([, value]) => !String(value).includes('{{'));
  return fixed.length > 0 && fixed.every(([name, value]) => url.searchParams.get(name) === String(value));
}

/** Whether a row is of the time that a request asks for. */
function within({ resource }: Example, request: HttpRequest): (row: Row) => boolean {
  const from = boundIn(resource.request, request, 'from') ?? Number.NEGATIVE_INFINITY;
  const to = boundIn(resource.request, request, 'to') ?? Number.POSITIVE_INFINITY;
  return ({ at }) => at >= from && at <= to;
}

function boundIn(
  { query, headers, body }: Example['resource']['request'],
  request: HttpRequest,
  bound: 'from' | 'to',
): number | null {
  const sent: unknown = request.method === 'POST' ? JSON.parse(request.body ?? '{}') : {};
  const texts = [
    ...placesOf(query, bound).map((name) => request.url.searchParams.get(name)),
    ...placesOf(headers, bound).map((name) => request.headers[name.toLowerCase()]),
    ...placesOf(body && 'json' in body ? body.json : {}, bound).map((path) => valueAt(sent, path)),
  ];
  const text = textOf(texts.find((one) => one !== null && one !== undefined) ?? '');
  const [time] = /\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?/.exec(text) ?? [];
  if (time !== undefined) return Date.parse(`${time.replace(' ', 'T')}${time.length > 10 ? 'Z' : ''}`);
  const [count] = /\d{9,13}/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * (count.length > 11 ? 1 : 1000);
}

/** The dotted paths of the templates that have a bound of the window. */
function placesOf(part: unknown, bound: 'from' | 'to'): readonly string[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) =>
    typeof value === 'object'
      ? placesOf(value, bound).map((path) => `${name}.${path}`)
      : String(value).includes(`window.${bound}`)
        ? [name]
        : [],
  );
}
