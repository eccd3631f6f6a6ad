import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { UpstreamResponse } from '../support/upstream/upstream.ts';
import { type CursorName, cursorField } from './cursors.ts';
import {
  type ApiRecord,
  type Collection,
  collections,
  createRecords,
  placeOf,
  type Records,
  shown,
} from './records.ts';

/** How the API responds badly. */
export const apiFaults = [
  'status 500',
  'status 401',
  'empty list',
  'error with status 200',
  'list cut',
  'keys renamed',
  'plans away',
  'plans cut',
  'users busy',
] as const;
export type ApiFault = (typeof apiFaults)[number];

interface Fault {
  readonly kind: ApiFault;
  /** Only requests for this one; null: all. */
  readonly collection: Collection | null;
  /** How many more responses are bad. */
  left: number;
}

/** The fake API of one story: lists in every form of pagination, lists of deleted records, and what lookups read. */
export interface StoryApi {
  readonly records: Records;
  /** What `Authorization` must be. */
  token: string;
  /** Null: it responds well. */
  fault: Fault | null;
  /** Its lists of deleted records keep those that were created again. */
  readonly keepsRecreated: boolean;
  /** Runs `act` before the nth request for a page from now on. */
  beforePage(nth: number, act: () => void | Promise<void>): void;
  /** Whether that has happened; forgets it otherwise. */
  disarm(): boolean;
  respond(headers: IncomingHttpHeaders, url: URL): Promise<UpstreamResponse>;
}

/** An API without records; `token` is what it asks for at first. */
export function createStoryApi(options: { readonly keepsRecreated: boolean }): StoryApi {
  const records = createRecords();
  let armed: { left: number; readonly act: () => void | Promise<void> } | null = null;
  const api: StoryApi = {
    records,
    token: 'token-1',
    fault: null,
    keepsRecreated: options.keepsRecreated,
    beforePage: (nth, act) => void (armed = { left: nth, act }),
    disarm() {
      const wasReached = armed === null;
      armed = null;
      return wasReached;
    },
    async respond(headers, url) {
      const [kind = '', name = ''] = url.pathname.split('/').slice(2);
      if (kind === 'list' && armed && --armed.left <= 0) {
        const { act } = armed;
        armed = null;
        await act();
      }
      const isBroken = broken(api, name);
      if (isBroken) return isBroken;
      if (headers.authorization !== `Bearer ${api.token}`) return replied(401, { error: 'token' });
      if (kind === 'list' || kind === 'deleted') return conditional(headers, listOf(api, kind, url));
      if (kind === 'plans') return plansOf(api, url);
      if (kind === 'users') return usersOf(api);
      return replied(404, { error: 'path' });
    },
  };
  return api;
}

const replied = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): UpstreamResponse => ({
  status,
  headers,
  body: JSON.stringify(body),
});

/** The response of a fault that concerns the whole request. */
function broken(api: StoryApi, name: string): UpstreamResponse | null {
  const kind = faultAt(api, (fault) => fault.collection === name && wholeFaults.has(fault.kind));
  if (kind === null) return null;
  if (kind === 'error with status 200') return replied(200, { error: 'busy' });
  return kind === 'status 401' ? replied(401, { error: 'token' }) : replied(500, { error: 'try again' });
}

const wholeFaults: ReadonlySet<ApiFault> = new Set(['status 500', 'status 401', 'error with status 200']);

/** The fault of a response if it is one of those; it counts. */
function faultAt(api: StoryApi, isOne: (fault: Fault) => boolean): ApiFault | null {
  const { fault } = api;
  if (!fault || !isOne(fault)) return null;
  fault.left -= 1;
  if (fault.left <= 0) api.fault = null;
  return fault.kind;
}

function conditional(asked: IncomingHttpHeaders, reply: UpstreamResponse): UpstreamResponse {
  const etag = `"${hash('sha256', reply.body + JSON.stringify(reply.headers ?? {})).slice(0, 16)}"`;
  const headers = { ...reply.headers, etag };
  return asked['if-none-match'] === etag ? { status: 304, headers, body: '' } : { ...reply, headers };
}

type Item = Readonly<Record<string, unknown>>;

/** A page of a list or of its deleted records. */
function listOf(api: StoryApi, kind: 'list' | 'deleted', url: URL): UpstreamResponse {
  const query = url.searchParams;
  const name = collections.find((known) => known === url.pathname.split('/')[3]);
  if (!name) return replied(404, { error: 'list' });
  const ranked = kind === 'list' ? rankedList(api, name, query) : rankedRemovals(api, name, query);
  const fault = kind === 'list' ? faultAt(api, ({ collection }) => collection === name) : null;
  return pageOf(fault === 'empty list' ? [] : ranked, { url, fault });
}

interface Ranked {
  readonly id: string;
  readonly rank: number;
  readonly item: Item;
}

function rankedList({ records }: StoryApi, name: Collection, query: URLSearchParams): readonly Ranked[] {
  const by = cursorNameOf(query.get('by'));
  const since = bound(query.get('since'), by, -Infinity);
  const until = bound(query.get('until'), by, Infinity);
  const wanted = records
    .all(name)
    .filter((record) => isWanted(records, { name, record, query }))
    .map((record) => ({ id: record.id, rank: cursorField(by).rank(record), item: shown(record) }))
    .filter(({ rank }) => rank >= since && rank <= until);
  return sorted(wanted, query.get('dir'));
}

function rankedRemovals(
  { records, keepsRecreated }: StoryApi,
  name: Collection,
  query: URLSearchParams,
): readonly Ranked[] {
  const places = query.get('place')?.split(',') ?? null;
  const since = bound(query.get('since'), 'modified', -Infinity);
  const removed = records
    .removals(name)
    .filter(({ at, place }) => at >= since && (places === null || places.includes(place)))
    .filter(({ id, place }) => {
      const living = records.find(name, id);
      if (places === null) return !living || keepsRecreated;
      return !living || keepsRecreated || placeOf(name, living) !== place;
    })
    .map(({ id, at }) => ({ id, rank: at, item: { id, deleted_at: new Date(at).toISOString() } }));
  return sorted(removed, 'asc');
}

const cursorNameOf = (text: string | null): CursorName => (text ?? 'modified') as CursorName;

const bound = (sent: string | null, by: CursorName, none: number): number =>
  sent === null || sent === '' ? none : cursorField(by).rankOf(sent);

function sorted(list: readonly Ranked[], dir: string | null): readonly Ranked[] {
  const byId = (one: Ranked, other: Ranked): number => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
  if (dir === null) return list.toSorted(byId);
  const asc = list.toSorted((one, other) => one.rank - other.rank || byId(one, other));
  return dir === 'asc' ? asc : asc.toReversed();
}

interface Wanted {
  readonly name: Collection;
  readonly record: ApiRecord;
  readonly query: URLSearchParams;
}

/** Whether the parameters of a request ask for the record; one that is missing asks for all. */
export function isWanted(records: Records, { name, record, query }: Wanted): boolean {
  const isOneOf = (param: string, value: unknown): boolean =>
    query.get(param)?.split(',').includes(String(value)) ?? true;
  if (!isOneOf('area', record.fields['area']) || !isOneOf('group', record.fields['group'])) return false;
  if (name !== 'children') return true;
  const parent = records.find('parents', String(record.fields['parent']));
  if (!parent) return false;
  return isOneOf('parent', record.fields['parent']) && isOneOf('region', parent.fields['region']);
}

function pageOf(all: readonly Ranked[], { url, fault }: { readonly url: URL; readonly fault: ApiFault | null }) {
  const query = url.searchParams;
  const size = Number(query.get('limit') ?? 1000);
  const start = startOf(all, query, size);
  const full = all.slice(start, start + size);
  const page = fault === 'list cut' ? full.slice(0, Math.ceil(full.length / 2)) : full;
  const last = full.at(-1);
  const next = fault !== 'list cut' && last && start + size < all.length ? tokenOf(last) : null;
  const address = new URL(url);
  if (next !== null) address.searchParams.set('cursor', next);
  const items = page.map(({ item }) => (fault === 'keys renamed' ? renamed(item) : item));
  const link = next === null ? {} : { link: `<${address.href}>; rel="next"` };
  if (query.get('bare') === 'yes') return replied(200, items, link);
  const pages = Math.ceil(all.length / size);
  const total = all.length;
  return replied(200, { data: items, total, pages, next, next_url: next === null ? null : address.href }, link);
}

const renamed = ({ id, ...rest }: Item): Item => ({ ID: id, ...rest });

function startOf(all: readonly Ranked[], query: URLSearchParams, size: number): number {
  const token = query.get('cursor');
  if (token !== null) return startAfter(all, JSON.parse(atob(token)), query.get('dir'));
  const after = query.get('after');
  if (after !== null) {
    const behind = all.findIndex(({ id }) => id > after);
    return behind < 0 ? all.length : behind;
  }
  const page = query.get('page');
  return page === null ? Number(query.get('offset') ?? 0) : (Number(page) - 1) * size;
}

const tokenOf = ({ rank, id }: Ranked): string => btoa(JSON.stringify({ rank, id }));

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

const planOf = (id: string) => ({ id, name: `plan ${id}`, price: id.length * 10 });

function plansOf(api: StoryApi, url: URL): UpstreamResponse {
  const fault = faultAt(api, ({ kind }) => kind.startsWith('plans'));
  if (fault === 'plans away') return replied(500, { error: 'plans' });
  const ids = url.searchParams.get('ids')?.split(',') ?? null;
  if (ids === null) return replied(200, planOf(url.pathname.split('/')[3] ?? ''));
  const results = ids.map(planOf);
  return replied(200, { results: fault === 'plans cut' ? results.slice(0, results.length >> 1) : results });
}

function usersOf(api: StoryApi): UpstreamResponse {
  if (faultAt(api, ({ kind }) => kind === 'users busy') !== null) return replied(200, { error: 'busy' });
  return replied(
    200,
    ['u1', 'u2', 'u3', 'u4'].map((id) => ({ id, email: `${id}@example.com` })),
  );
}
