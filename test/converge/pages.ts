import type { UpstreamResponse } from '../support/upstream/upstream.ts';
import type { ApiFault } from './faults.ts';

type Item = Readonly<Record<string, unknown>>;

/** An item of a list, and what the list is sorted by. */
export interface Ranked {
  readonly id: string;
  readonly rank: number;
  readonly item: Item;
}

/** A response with a JSON body. */
export const replied = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): UpstreamResponse => ({
  status,
  headers,
  body: JSON.stringify(body),
});

interface Page {
  readonly url: URL;
  readonly fault: ApiFault | null;
  /** The number of the newest change. */
  readonly newest: number;
}

/** The page that a request asks for. */
export function pageOf(all: readonly Ranked[], { url, fault, newest }: Page): UpstreamResponse {
  const query = url.searchParams;
  const size = Number(query.get('limit') ?? 1000);
  const start = startOf(all, query, size);
  const full = all.slice(start, start + size);
  const behind = startTokenOf(query);
  const isEmpty = (fault === 'empty page' && start > 0) || behind?.isEmpty === true;
  const page = fault === 'list cut' ? full.slice(0, Math.ceil(full.length / 2)) : isEmpty ? [] : full;
  const last = full.at(-1);
  const isSparse = query.get('sparse') === 'yes';
  const more = last && start + size < all.length ? tokenOf({ ...last, isEmpty: isSparse }) : null;
  const next = fault === 'list cut' ? null : behind?.isEmpty ? tokenOf({ ...behind, isEmpty: false }) : more;
  const address = new URL(url);
  if (next !== null) address.searchParams.set('cursor', next);
  const items = page.map(({ item }) => (fault === 'keys renamed' ? renamed(item) : item));
  const link = next === null ? {} : { link: `<${address.href}>; rel="next"` };
  if (query.get('bare') === 'yes') return replied(200, items, link);
  const total = fault === 'count too low' ? all.length >> 1 : all.length;
  const pages = Math.ceil(total / size);
  const next_url = next === null ? null : address.href;
  const token = query.get('tokens') === 'yes' ? { sync_token: String(Math.max(newest, 0) + 1) } : {};
  return replied(200, { data: items, total, pages, next, next_url, ...token }, link);
}

const renamed = ({ id, ...rest }: Item): Item => ({ ID: id, ...rest });

function startOf(all: readonly Ranked[], query: URLSearchParams, size: number): number {
  const token = startTokenOf(query);
  if (token !== null) return startAfter(all, token, query.get('dir'));
  const after = query.get('after');
  if (after !== null) {
    const behind = all.findIndex(({ id }) => id > after);
    return behind < 0 ? all.length : behind;
  }
  const page = query.get('page');
  return page === null ? Number(query.get('offset') ?? 0) : (Number(page) - 1) * size;
}

/** The record behind which a page begins; `isEmpty`: it has no items, and the next one begins there. */
interface PageToken extends Pick<Ranked, 'rank' | 'id'> {
  readonly isEmpty: boolean;
}

const tokenOf = ({ rank, id, isEmpty }: PageToken): string => btoa(JSON.stringify({ rank, id, isEmpty }));

function startTokenOf(query: URLSearchParams): PageToken | null {
  const token = query.get('cursor');
  return token === null ? null : JSON.parse(atob(token));
}

/** Where the records behind that of a token begin, whatever has changed meanwhile. */
function startAfter(all: readonly Ranked[], token: Pick<Ranked, 'rank' | 'id'>, dir: string | null): number {
  const isBehind = ({ rank, id }: Ranked): boolean => {
    if (dir === null) return id > token.id;
    const order = rank - token.rank || (id > token.id ? 1 : id < token.id ? -1 : 0);
    return dir === 'asc' ? order > 0 : order < 0;
  };
  const behind = all.findIndex(isBehind);
  return behind < 0 ? all.length : behind;
}
