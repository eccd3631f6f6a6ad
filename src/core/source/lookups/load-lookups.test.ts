import * as v from 'valibot';
import { afterAll, describe, expect, it } from 'vitest';
import { AppError } from '../../errors.ts';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { type HttpClient, type HttpRequest } from '../../model/http.ts';
import { ThrottledError } from '../../model/throttled.ts';
import { Lookup } from '../../spec/schema/lookup-schema.ts';
import { decodeAtOnce } from '../decode/decode-turns.ts';
import type { Source } from '../source.ts';
import { type Api, type ApiReply, type ApiRequest, inQuery, numberOf, sourceOf, startApi } from '../source-fixture.ts';
import { type LoadedLookup, loadLookups } from './load-lookups.ts';
import { type MemoryStore, memoryStore } from './lookup-store-fixture.ts';

const evaluator = createTestEvaluator({ size: 2 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const users = Array.from({ length: 5 }, (_, n) => ({ id: n + 1, email: `u${n + 1}@a.test`, next: n + 2 }));
const all = { assignTo: 'users', keyBy: 'id', value: 'email', request: { path: '/users' } };
const emails = Object.fromEntries(users.map(({ id, email }) => [id, email]));

/** Two users per page, in the form that the pagination asks for. */
function pageOf(request: ApiRequest): ApiReply {
  const from = Math.max(
    (numberOf(request, 'page', 1) - 1) * 2,
    numberOf(request, 'offset', 0),
    numberOf(request, 'after', 0),
  );
  const next = from + 2 < users.length ? from + 2 : null;
  const link = next === null ? {} : { link: `<${request.url.origin}/users?after=${next}>; rel="next"` };
  return { headers: link, body: { data: users.slice(from, from + 2), next } };
}

interface Loading {
  readonly lookups: readonly Readonly<Record<string, unknown>>[];
  readonly store?: MemoryStore;
  readonly overrides?: Partial<Source>;
  readonly wrap?: (client: HttpClient) => HttpClient;
}

/** Loads and gives the tables, what was reported and which requests a cache saved. */
async function load(api: Api, { lookups, store = memoryStore(), overrides = {}, wrap = (client) => client }: Loading) {
  const loaded: LoadedLookup[] = [];
  const saved: HttpRequest[] = [];
  const source = sourceOf({ api, evaluator, resource: {} }, overrides);
  const client = wrap({ ...source.client, logSaved: async (request) => void saved.push(request) });
  const tables = await loadLookups({ ...source, client }, parsed(lookups), {
    store,
    signal: new AbortController().signal,
    onLoaded: (lookup) => loaded.push(lookup),
  });
  return { tables, loaded, saved };
}

const parsed = (lookups: readonly unknown[]) =>
  v.parse(
    v.array(Lookup),
    lookups.map((lookup) => ({ kind: 'request', ...(lookup as object) })),
  );

const codeOf = (error: unknown) => (error instanceof AppError ? error.code : String(error));

describe('a table', () => {
  it.each([
    ['page', { kind: 'page', size: 2, inject: inQuery('page') }],
    ['offset', { kind: 'offset', size: 2, inject: inQuery('offset') }],
    ['cursor', { kind: 'cursor', next: 'body.next', inject: inQuery('after') }],
    ['keyset', { kind: 'keyset', size: 2, field: 'id', inject: inQuery('after') }],
    ['next_url', { kind: 'next_url', next: 'body.next ? "/users?after=" & body.next' }],
    ['link_header', { kind: 'link_header' }],
  ])('is read to its end by pagination of kind %s', async (_kind, pagination) => {
    await using api = await startApi(pageOf);
    const { tables, loaded } = await load(api, { lookups: [{ ...all, records: 'data', pagination }] });
    expect(tables).toEqual({ users: emails });
    expect(loaded).toEqual([{ assignTo: 'users', entries: 5, duplicates: 0, withoutKey: 0 }]);
  });

  it('does not end with a short page', async () => {
    const pages = [[users[0]], users.slice(1, 3), users.slice(3)];
    await using api = await startApi((request) => ({ body: pages[numberOf(request, 'page', 1) - 1] ?? [] }));
    const pagination = { kind: 'page', size: 2, inject: inQuery('page') };
    expect((await load(api, { lookups: [{ ...all, pagination }] })).tables).toEqual({ users: emails });
  });

  it.each([
    ['page', 'id'],
    ['offset', 'id'],
    ['page', '$string(id)'],
    ['offset', '$string(id)'],
  ])('is read whole although its items have other addresses in each response: %s by %s', async (kind, keyBy) => {
    await using api = await startApi((request) => {
      const { data } = pageOf(request).body as { readonly data: readonly object[] };
      return { body: data.map((user) => ({ ...user, picture: crypto.randomUUID() })) };
    });
    const pagination = { kind, size: 2, inject: inQuery(kind) };
    expect((await load(api, { lookups: [{ ...all, keyBy, pagination }] })).tables).toEqual({ users: emails });
  });

  it('is read again where it has moved meanwhile', async () => {
    let list = users;
    let asked = 0;
    await using api = await startApi((request) => {
      asked += 1;
      if (asked === 2) list = users.slice(1);
      const from = (numberOf(request, 'page', 1) - 1) * 2;
      return { body: list.slice(from, from + 2) };
    });
    const pagination = { kind: 'page', size: 2, inject: inQuery('page') };
    expect((await load(api, { lookups: [{ ...all, pagination }] })).tables).toEqual({ users: emails });
  });

  it('holds whole items by default, the last of those with one key, and none without a key', async () => {
    const body = [{ id: 1, n: 'a' }, { id: '1', n: 'b' }, { n: 'c' }, { id: 2 }];
    await using api = await startApi(() => ({ body }));
    const { tables, loaded } = await load(api, { lookups: [{ assignTo: 't', keyBy: 'id', request: { path: '/' } }] });
    expect(tables).toEqual({ t: { 1: { id: '1', n: 'b' }, 2: { id: 2 } } });
    expect(loaded).toEqual([{ assignTo: 't', entries: 2, duplicates: 1, withoutKey: 1 }]);
  });

  it('has the items of a path with a *', async () => {
    const body = { teams: { a: { users: [{ id: 1, email: 'x' }] }, b: { users: [{ id: 2, email: 'y' }] } } };
    await using api = await startApi(() => ({ body }));
    const { tables } = await load(api, { lookups: [{ ...all, records: 'teams.*.users.*' }] });
    expect(tables).toEqual({ users: { 1: 'x', 2: 'y' } });
  });

  it('sees the tables it depends on, said or read from its expressions, and comes after them', async () => {
    await using api = await startApi(({ url }) => ({ body: url.pathname === '/b' ? [{ id: 'x' }] : [{ id: 1 }] }));
    const lookups = [
      { assignTo: 'c', keyBy: 'id', value: '$lookups.b.x & $a', request: { path: '/c' } },
      { assignTo: 'b', dependsOn: ['s'], keyBy: 'id', value: '$lookups.s.k', request: { path: '/b' } },
      { assignTo: 'a', keyBy: '"k"', value: '"v"', request: { path: '/a', query: { q: '{{ $lookups.b.x }}' } } },
      { kind: 'static', assignTo: 's', table: { k: 'S' } },
    ];
    const { tables } = await load(api, { lookups });
    expect(tables).toMatchObject({ a: { k: 'v' }, b: { x: 'S' }, s: { k: 'S' } });
    expect(api.requests.map(({ url }) => url.pathname + url.search)).toEqual(['/b', '/a?q=S', '/c']);
  });

  it('with more entries than it may have fails the run, and says what to do', async () => {
    await using api = await startApi(pageOf);
    const failed = load(api, { lookups: [{ ...all, records: 'data', maxEntries: 1 }] });
    await expect(failed).rejects.toThrow('The lookup "users" has more than 1 entries. Narrow its request, or raise');
    expect(await failed.catch(codeOf)).toBe('source_rejected');
  });

  it('of 16 MB and more is refused', async () => {
    const body = Array.from({ length: 17 }, (_, id) => ({ id, text: 'x'.repeat(1_000_000) }));
    await using api = await startApi(() => ({ body }));
    const lookups = [{ assignTo: 't', keyBy: 'id', request: { path: '/' } }];
    await expect(load(api, { lookups })).rejects.toThrow('larger than 16 MB');
  });

  it('of less than 16 MB is refused when all of the run are larger together, fetched or stored', async () => {
    const text = 'x'.repeat(900_000);
    await using api = await startApi(() => ({ body: Array.from({ length: 10 }, (_, id) => ({ id, text })) }));
    const table = (assignTo: string) => ({
      assignTo,
      keyBy: 'id',
      request: { path: `/${assignTo}` },
      cache: { scope: 'connection' },
    });
    const failed = load(api, { lookups: [table('a'), table('b')] });
    await expect(failed).rejects.toThrow('makes the tables of the run larger than 16 MB together');
    const store = memoryStore();
    await load(api, { lookups: [table('a')], store });
    await load(api, { lookups: [table('b')], store: store.nextRun() });
    const requests = api.requests.length;
    const next = load(api, { lookups: [table('a'), table('b')], store: store.nextRun() });
    expect(await next.catch(codeOf)).toBe('source_rejected');
    expect(api.requests).toHaveLength(requests);
  });

  it('that is large is parsed when it is the turn of its org, and takes memory', async () => {
    const body = Array.from({ length: 30 }, (_, id) => ({ id, text: 'x'.repeat(100_000) }));
    await using api = await startApi(() => ({ body }));
    const store = memoryStore();
    const lookups = [{ assignTo: 't', keyBy: 'id', request: { path: '/' } }];
    await load(api, { lookups, store });
    const taken: number[] = [];
    let turns = 0;
    const decodeTurns: Source['decodeTurns'] = {
      ...decodeAtOnce,
      takeMemory: async (bytes) => void taken.push(bytes),
      async inTurn(decode) {
        turns += 1;
        return await decode();
      },
    };
    const { tables } = await load(api, { lookups, store, overrides: { decodeTurns } });
    expect(Object.keys(tables['t'] ?? {})).toHaveLength(30);
    expect({ turns, taken }).toEqual({ turns: 2, taken: [expect.closeTo(3_000_000, -5)] });
  });

  it('keeps an item with text that no database holds, or one that is nested too deep', async () => {
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
    await using api = await startApi(() => ({ body: `[{"id":1,"bio":"\\u0000"},{"id":2,"deep":${deep}}]` }));
    const { tables } = await load(api, { lookups: [{ assignTo: 't', keyBy: 'id', request: { path: '/' } }] });
    expect(tables).toMatchObject({ t: { 1: { bio: String.raw`\u0000` }, 2: { id: 2 } } });
  });

  it.each([
    ['keyBy', { keyBy: '$number(email)' }],
    ['value', { value: '$number(email)' }],
  ])('whose %s fails on an item fails the run, without the value', async (part, broken) => {
    await using api = await startApi(pageOf);
    const failed = load(api, { lookups: [{ ...all, records: 'data', ...broken }] });
    expect(await failed.catch(codeOf)).toBe('spec_invalid');
    await expect(failed).rejects.toThrow(`${part} of the lookup "users" fails on an item`);
    await expect(failed).rejects.not.toThrow('u1@a.test');
  });

  it('goes by the error rules of http, not by those of the resource', async () => {
    await using api = await startApi(() => ({ status: 418, body: {} }));
    const http = { baseUrl: api.origin, errors: [{ when: { status: [418] }, action: 'empty' }] };
    const { http: settings } = sourceOf({ api, evaluator, resource: {}, http });
    const { tables } = await load(api, { lookups: [all], overrides: { http: settings } });
    expect(tables).toEqual({ users: {} });
    const rule = { when: { status: [418] }, action: 'empty' } as const;
    const { resource } = sourceOf({ api, evaluator, resource: { errors: [rule] } });
    const failed = load(api, { lookups: [all], overrides: { resource } });
    expect(await failed.catch(codeOf)).toBe('source_rejected');
  });
});

describe('a table that was loaded', () => {
  const shared = { ...all, records: 'data', cache: { scope: 'connection', ttlSeconds: 900 } };

  it('is not requested again by the run', async () => {
    await using api = await startApi(pageOf);
    const store = memoryStore();
    const first = await load(api, { lookups: [{ ...all, records: 'data' }], store });
    store.pass(1e6);
    const again = await load(api, { lookups: [{ ...all, records: 'data' }], store });
    expect(again).toEqual({ tables: first.tables, loaded: [], saved: [] });
    expect(api.requests).toHaveLength(1);
    await load(api, { lookups: [{ ...all, records: 'data' }], store: store.nextRun() });
    expect(api.requests).toHaveLength(2);
  });

  it('with scope connection serves the next run, which logs the request it saved, until it expires', async () => {
    await using api = await startApi(pageOf);
    const store = memoryStore();
    const first = await load(api, { lookups: [shared], store });
    const next = store.nextRun();
    const second = await load(api, { lookups: [shared], store: next });
    expect(second).toMatchObject({ tables: first.tables, loaded: [], saved: [{ method: 'GET' }] });
    expect(second.saved[0]?.url.pathname).toBe('/users');
    store.pass(901);
    expect((await load(api, { lookups: [shared], store: next })).tables).toEqual(first.tables);
    expect(api.requests).toHaveLength(1);
    await load(api, { lookups: [shared], store: store.nextRun() });
    expect(api.requests).toHaveLength(2);
  });

  it.each([
    ['its definition', { lookups: [{ ...shared, value: 'id' }] }],
    ['a parameter', { lookups: [shared], overrides: { params: { region: 'us' } } }],
    ['a secret', { lookups: [shared], overrides: { secrets: { token: 'other' } } }],
    ['the auth block', { lookups: [shared], overrides: { auth: { kind: 'headers', headers: {} } as const } }],
  ])('is not used after a change of %s', async (_what, change: Loading) => {
    await using api = await startApi(pageOf);
    const store = memoryStore();
    await load(api, { lookups: [shared], store });
    await load(api, { ...change, store: store.nextRun() });
    expect(api.requests).toHaveLength(2);
  });
});

it('continues where a long wait interrupted the load: every page is requested once', async () => {
  await using api = await startApi(pageOf);
  const pagination = { kind: 'cursor', next: 'body.next', inject: inQuery('after') };
  const store = memoryStore();
  let left = 1;
  const throttled = (client: HttpClient): HttpClient => ({
    ...client,
    async send(request, options) {
      if (left === 0) throw new ThrottledError(60_000);
      left -= 1;
      return client.send(request, options);
    },
  });
  const again = () => load(api, { lookups: [{ ...all, records: 'data', pagination }], store, wrap: throttled });
  await expect(again()).rejects.toThrow(ThrottledError);
  left = 1;
  await expect(again()).rejects.toThrow(ThrottledError);
  left = 1;
  expect((await again()).tables).toEqual({ users: emails });
  expect(api.requests.map(({ url }) => url.search)).toEqual(['', '?after=2', '?after=4']);
});

describe('a response that is no table', () => {
  it.each([
    ['an object without a key', { error: 'busy' }, {}],
    ['items without a key', [{ ident: 1 }, { ident: 2 }], {}],
    ['a failure by successWhen', { error: 'busy', data: [] }, { successWhen: '$not($exists(error))', records: 'data' }],
  ])('fails the run instead of an empty table: %s', async (_case, body, rest) => {
    await using api = await startApi(() => ({ body }));
    const lookup = { assignTo: 't', keyBy: 'id', request: { path: '/' }, ...rest };
    expect(await load(api, { lookups: [lookup] }).catch(codeOf)).toBe('source_rejected');
  });

  it('an empty list is a table, and later runs ask again', async () => {
    const store = memoryStore();
    let body: unknown = [];
    await using api = await startApi(() => ({ body }));
    const lookup = { assignTo: 't', keyBy: 'id', request: { path: '/' }, cache: { scope: 'connection' } };
    expect((await load(api, { lookups: [lookup], store })).tables).toEqual({ t: {} });
    body = [{ id: 1 }];
    expect((await load(api, { lookups: [lookup], store: store.nextRun() })).tables).toEqual({ t: { 1: { id: 1 } } });
  });
});
