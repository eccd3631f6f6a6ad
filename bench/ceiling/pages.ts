/** Reading the API without a service: pages in their order, fetched before they are needed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Customer } from '../support/customers.ts';

/** Both ways in which the API gives its pages. */
export type Paging = 'cursor' | 'page';

/** How it is read. */
export interface ReadOptions {
  /** Of the API. */
  readonly url: string;
  readonly paging: Paging;
  /** Only what has changed since; null: everything. */
  readonly since: string | null;
}

/** One page. */
export interface Page {
  readonly data: readonly Customer[];
  /** Where to go on: a cursor or the number of the next page. */
  readonly next: string | null;
}

const pageSize = 100;
/** Pages read ahead of the one in hand; of numbered pages so many are asked for at once. */
const ahead = { cursor: 4, page: 8 };
const attemptsMax = 6;

/** Every page of the list. */
export async function* readPages({ url, paging, since }: ReadOptions): AsyncGenerator<Page> {
  await using stack = new AsyncDisposableStack();
  const pool = stack.adopt(new Pool(url, { connections: ahead[paging] }), (opened) => opened.close());
  const get = (position: string) => getPage(pool, pathOf({ paging, since, position }));
  yield* paging === 'cursor' ? inAdvance(cursorPages(get), ahead.cursor) : numberedPages(get);
}

type Get = (position: string) => Promise<Body>;

interface Body {
  readonly data: readonly Customer[];
  readonly next_cursor?: string | null;
  readonly total_pages?: number;
}

function pathOf({ paging, since, position }: Omit<ReadOptions, 'url'> & { readonly position: string }): string {
  const filter = since === null ? '' : `&updated_since=${since}`;
  if (paging === 'page') return `/page?per_page=${pageSize}&page=${position || 1}${filter}`;
  return `/cursor?limit=${pageSize}${position && `&cursor=${position}`}${filter}`;
}

async function getPage(pool: Pool, path: string): Promise<Body> {
  for (let attempt = 1; ; attempt += 1) {
    let waitMs = 100 * 2 ** (attempt - 1);
    try {
      const { statusCode, headers, body } = await pool.request({ path, method: 'GET' });
      const text = await body.text();
      if (statusCode === 200) return JSON.parse(text) as Body;
      if (statusCode === 429) waitMs = Number(headers['retry-after']) * 1000;
      if (attempt === attemptsMax) throw new Error(`${path} responded with ${statusCode}`);
    } catch (error) {
      if (attempt === attemptsMax) throw error;
    }
    await sleep(waitMs);
  }
}

async function* cursorPages(get: Get): AsyncGenerator<Page> {
  for (let position: string | null = ''; position !== null; ) {
    const body: Body = await get(position);
    position = body.next_cursor ?? null;
    yield { data: body.data, next: position };
  }
}

async function* numberedPages(get: Get): AsyncGenerator<Page> {
  const first = await get('');
  const last = first.total_pages ?? 1;
  yield { data: first.data, next: last > 1 ? '2' : null };
  const asked: Promise<Body>[] = [];
  for (let page = 2, next = 2; page <= last; page += 1) {
    for (; next <= last && asked.length < ahead.page; next += 1) asked.push(get(String(next)));
    const body = await asked.shift();
    yield { data: body?.data ?? [], next: page < last ? String(page + 1) : null };
  }
}

/** The same pages, so many of them asked for before the first is taken. A generator serves queued calls in order. */
async function* inAdvance(pages: AsyncGenerator<Page>, depth: number): AsyncGenerator<Page> {
  const asked = Array.from({ length: depth }, () => pages.next());
  for (;;) {
    const reply = await asked.shift();
    if (!reply || reply.done) return;
    asked.push(pages.next());
    yield reply.value;
  }
}
