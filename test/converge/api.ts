import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { UpstreamResponse } from '../support/upstream/upstream.ts';
import { type CursorName, cursorField } from './cursors.ts';
import type { ApiFault, Fault } from './faults.ts';
import { pageOf, type Ranked, replied } from './pages.ts';
import {
  type ApiRecord,
  type Collection,
  collections,
  createRecords,
  placeOf,
  type Records,
  shown,
} from './records.ts';
import type { Sink } from './sink.ts';

/** Whether ids are numbers. */
export interface IdForms {
  readonly listed: 'text' | 'number';
  readonly deleted: 'text' | 'number';
}

/** The fake API of one story: lists in every form of pagination, lists of deleted records, and what lookups read. */
export interface StoryApi {
  readonly records: Records;
  /** The customer's receivers by name. */
  readonly sinks: Map<string, Sink>;
  /** What `Authorization` must be. */
  token: string;
  /** Null: it responds well. */
  fault: Fault | null;
  /** The version of what lookups read. */
  users: number;
  /** Whether ids are numbers, in lists and in lists of deleted records. */
  readonly forms: IdForms;
  /** From now on no sync token from before is known, and deleted records are no longer shown. */
  expireTokens(): void;
  /** Sync tokens below this are not known. */
  readonly firstToken: number;
  /** Runs `act` before the nth request for a page from now on. */
  beforePage(nth: number, act: () => void | Promise<void>): void;
  /** Whether that has happened; forgets it otherwise. */
  disarm(): boolean;
  /** Null: the connection ends without a response. */
  respond(headers: IncomingHttpHeaders, url: URL, body: string): Promise<UpstreamResponse | null>;
}

/** An API without records; `token` is what it asks for at first. */
export function createStoryApi(forms: IdForms): StoryApi {
  const records = createRecords();
  let firstToken = 0;
  let armed: { left: number; readonly act: () => void | Promise<void> } | null = null;
  const api: StoryApi = {
    records,
    sinks: new Map(),
    token: 'token-1',
    fault: null,
    users: 1,
    forms,
    get firstToken() {
      return firstToken;
    },
    expireTokens() {
      for (const { id, fields } of records.all('items'))
        if (fields['status'] === 'deleted') records.remove('items', id);
      firstToken = records.newest().seq + 1;
    },
    beforePage: (nth, act) => void (armed = { left: nth, act }),
    disarm() {
      const wasReached = armed === null;
      armed = null;
      return wasReached;
    },
    async respond(headers, url, body) {
      const [kind = '', name = ''] = url.pathname.split('/').slice(2);
      if (kind === 'sink') return api.sinks.get(name)?.respond(String(headers['webhook-id']), body) ?? null;
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

/** A page of a list or of its deleted records. */
function listOf(api: StoryApi, kind: 'list' | 'deleted', url: URL): UpstreamResponse {
  const query = url.searchParams;
  const name = collections.find((known) => known === url.pathname.split('/')[3]);
  if (!name) return replied(404, { error: 'list' });
  const token = query.get('token');
  if (token !== null && Number(token) < api.firstToken) return replied(410, { error: 'expired' });
  const ranked = kind === 'list' ? rankedList(api, name, query) : rankedRemovals(api, name, query);
  const fault = kind === 'list' ? faultAt(api, ({ collection }) => collection === name) : null;
  return pageOf(fault === 'empty list' ? [] : ranked, { url, fault, newest: api.records.newest().seq });
}

function rankedList({ records, forms }: StoryApi, name: Collection, query: URLSearchParams): readonly Ranked[] {
  const by = cursorNameOf(query.get('by'));
  const token = query.get('token');
  const since = token === null ? bound(query.get('since'), by, -Infinity) : Number(token);
  const until = bound(query.get('until'), by, Infinity);
  const wanted = records
    .all(name)
    .filter((record) => isWanted(records, { name, record, query }))
    .map((record) => ({
      id: record.id,
      rank: cursorField(by).rank(record),
      item: { ...shown(record), id: idAs(forms.listed, record.id) },
    }))
    .filter(({ rank }) => rank >= since && rank <= until);
  return sorted(wanted, query.get('dir'));
}

function rankedRemovals({ records, forms }: StoryApi, name: Collection, query: URLSearchParams): readonly Ranked[] {
  const places = query.get('place')?.split(',') ?? null;
  const since = bound(query.get('since'), 'modified', -Infinity);
  const removed = records
    .removals(name)
    .filter(({ at, place }) => at >= since && (places === null || places.includes(place)))
    .filter(({ id, place }) => {
      if (query.get('ever') === 'yes') return true;
      const living = records.find(name, id);
      return !living || (places !== null && placeOf(name, living) !== place);
    })
    .map(({ id, at }) => ({
      id,
      rank: at,
      item: { id: idAs(forms.deleted, id), deleted_at: new Date(at).toISOString() },
    }));
  return sorted(removed, 'asc');
}

const idAs = (form: 'text' | 'number', id: string): string | number => (form === 'text' ? id : Number(id));

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
  const hasParent = records.find('parents', String(record.fields['parent'])) !== undefined;
  return hasParent && isOneOf('parent', record.fields['parent']) && isOneOf('region', record.fields['region']);
}

const planOf = (id: string) => ({ id, name: `plan ${id}`, price: id.length * 10 });

function plansOf(api: StoryApi, url: URL): UpstreamResponse {
  const fault = faultAt(api, ({ kind }) => kind.startsWith('plans'));
  if (fault === 'plans away') return replied(500, { error: 'plans' });
  const ids = url.searchParams.get('ids')?.split(',') ?? null;
  if (ids === null) return replied(200, planOf(url.pathname.split('/')[3] ?? ''));
  const results = ids.map(planOf);
  return replied(200, { results: fault === 'plans cut' ? results.slice(0, Math.ceil(results.length / 2)) : results });
}

function usersOf(api: StoryApi): UpstreamResponse {
  if (faultAt(api, ({ kind }) => kind === 'users busy') !== null) return replied(200, { error: 'busy' });
  return replied(
    200,
    ['u1', 'u2', 'u3', 'u4'].map((id) => ({ id, email: `${id}@example${api.users}.com` })),
  );
}
