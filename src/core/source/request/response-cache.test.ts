import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import type { HttpRequest, HttpResponse } from '../../model/http.ts';
import { HttpSettings, RequestTemplate } from '../../spec/schema/http-schema.ts';
import { type MemoryStore, memoryStore } from '../lookups/lookup-store-fixture.ts';
import { openResponseCache } from './open-response-cache.ts';

const { signal } = new AbortController();
const first = { isFirst: true, isRestarted: false };
const later = { isFirst: false, isRestarted: false };

type Reply = Partial<Omit<HttpResponse, 'body'>> & { readonly body?: string };

/** An API that gives these responses in turn, and what it was asked. */
function scripted(...replies: readonly Reply[]) {
  const sent: HttpRequest[] = [];
  const saved: string[] = [];
  const client = {
    send: async (request: HttpRequest): Promise<HttpResponse> => {
      const { body = '', ...reply } = replies[sent.length] ?? {};
      sent.push(request);
      return { status: 200, headers: {}, url: request.url, ...reply, body: Buffer.from(body) };
    },
    logSaved: async ({ url }: HttpRequest) => void saved.push(url.pathname),
  };
  const conditions = () => sent.map(({ headers }) => headers['if-none-match'] ?? headers['if-modified-since'] ?? null);
  return { client, sent, saved, conditions };
}

const http = v.parse(HttpSettings, { baseUrl: 'https://api.test' });
const source = { http, auth: { kind: 'none' }, params: {}, secrets: {}, specChecksum: 'sha256:1' } as const;

/** The responses of one read. */
function opened(
  { client }: ReturnType<typeof scripted>,
  store: MemoryStore,
  cache: Readonly<Record<string, unknown>>,
  changes: Partial<typeof source> & { readonly method?: string } = {},
) {
  const { method = 'GET', ...more } = changes;
  const template = v.parse(RequestTemplate, { method, path: '/', cache });
  return openResponseCache({ ...source, ...more, client }, template, store);
}

const request = (path = '/list'): HttpRequest => ({
  method: 'GET',
  url: new URL(path, 'https://api.test'),
  headers: { accept: 'application/json' },
  timeoutMs: 1000,
  responseBytesMax: 1000,
  allowedHosts: [],
});

const textOf = ({ body }: HttpResponse): string => Buffer.from(body).toString();

describe('a conditional request', () => {
  const cache = { mode: 'conditional' };
  const tagged = { headers: { etag: '"1"', link: '</list?page=2>; rel="next"', 'set-cookie': 'sid=1' }, body: '[1]' };

  test.each([
    ['etag', '"1"'],
    ['last-modified', 'Thu, 01 Jan 2026 00:00:00 GMT'],
  ])('carries the %s of the last response, which a 304 brings back whole', async (name, value) => {
    const date = 'Thu, 01 Jan 2026 00:01:00 GMT';
    const api = scripted(
      { headers: { ...tagged.headers, date, etag: '', [name]: value }, body: '[1]' },
      { status: 304 },
    );
    const store = memoryStore();
    const { keep } = await opened(api, store, cache).send(request(), { signal });
    await keep({ isLast: true });
    const { response } = await opened(api, store.nextRun(), cache).send(request(), { signal });
    expect(api.sent[1]?.headers).toMatchObject({ [`if-${name === 'etag' ? 'none-match' : 'modified-since'}`]: value });
    expect(response).toMatchObject({ status: 200, headers: { link: tagged.headers.link }, url: request().url });
    expect(textOf(response)).toBe('[1]');
    expect(response.headers).not.toHaveProperty('set-cookie');
  });

  test.each([
    ['without a date', {}],
    ['with the date of a second later', { date: 'Thu, 01 Jan 2026 00:00:01 GMT' }],
  ])('carries no last-modified of a response %s: it may have changed since without another', async (_how, dated) => {
    const headers = { 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT', ...dated };
    const api = scripted({ headers, body: '[1]' }, { headers, body: '[2]' });
    const store = memoryStore();
    const { keep } = await opened(api, store, cache).send(request(), { signal });
    await keep({ isLast: true });
    const { response } = await opened(api, store.nextRun(), cache).send(request(), { signal });
    expect(api.sent[1]?.headers).not.toHaveProperty('if-modified-since');
    expect(textOf(response)).toBe('[2]');
  });

  test('that brings another response gives and keeps that one', async () => {
    const api = scripted(tagged, { headers: { etag: '"2"' }, body: '[2]' }, { status: 304 });
    const store = memoryStore();
    for (const body of ['[1]', '[2]', '[2]']) {
      const { response, keep } = await opened(api, store, cache).send(request(), { signal });
      expect(textOf(response)).toBe(body);
      await keep({ isLast: true });
    }
    expect(api.conditions()).toEqual([null, '"1"', '"2"']);
  });

  test.each([
    ['made no sense', tagged, false],
    ['has no validators', { body: '[1]' }, true],
    ['is no success', { ...tagged, status: 404 }, true],
    ['is too long to be kept', { ...tagged, body: 'x'.repeat(4_000_001) }, true],
  ])('is not made when the last response %s', async (_what, reply, isSound) => {
    const api = scripted(reply, tagged);
    const store = memoryStore();
    const { keep } = await opened(api, store, cache).send(request(), { signal });
    if (isSound) await keep({ isLast: true });
    await opened(api, store, cache).send(request(), { signal });
    expect(api.conditions()).toEqual([null, null]);
  });

  test.each([
    ['another address', request('/other'), {}],
    ['another header', { ...request(), headers: { accept: 'text/csv' } }, {}],
    ['another spec', request(), { specChecksum: 'sha256:2' }],
    ['other credentials', request(), { secrets: { token: 'b' } }],
  ])('is not made for %s', async (_what, asked, changes: object) => {
    const api = scripted(tagged, tagged);
    const store = memoryStore();
    const { keep } = await opened(api, store, cache).send(request(), { signal });
    await keep({ isLast: true });
    await opened(api, store, cache, changes).send(asked, { signal });
    expect(api.conditions()).toEqual([null, null]);
  });

  test('is not made by a read that began again: what is kept leads to the token that has expired', async () => {
    const api = scripted(tagged, tagged);
    const responses = opened(api, memoryStore(), cache);
    const { keep } = await responses.send(request(), { signal }, first);
    await keep({ isLast: false });
    await responses.send(request(), { signal }, { ...first, isRestarted: true });
    expect(api.conditions()).toEqual([null, null]);
  });

  test.each([['none'], ['conditional'], ['ttl']])('is never a POST, whatever its cache (%s)', async (mode) => {
    const api = scripted(tagged, tagged);
    const store = memoryStore();
    for (let time = 0; time < 2; time += 1) {
      const responses = opened(api, store, { mode, ttlSeconds: 60 }, { method: 'POST' });
      const { keep } = await responses.send(request(), { signal });
      await keep({ isLast: true });
    }
    expect(api.conditions()).toEqual([null, null]);
    expect(store.count('connection')).toBe(0);
  });
});

describe('a response with an expiry time', () => {
  const cache = { mode: 'ttl', ttlSeconds: 60 };

  test('counts for so long, without a request, and the log says so', async () => {
    const api = scripted({ body: '[1]' }, { body: '[2]' });
    const store = memoryStore();
    const ask = async () => {
      const { response, keep } = await opened(api, store, cache).send(request(), { signal });
      await keep({ isLast: true });
      return textOf(response);
    };
    expect([await ask(), await ask()]).toEqual(['[1]', '[1]']);
    expect(api.saved).toEqual(['/list']);
    store.pass(60);
    expect([await ask(), await ask()]).toEqual(['[2]', '[2]']);
    expect(api.sent).toHaveLength(2);
  });

  const pages = [{ body: '1' }, { body: '2' }, { body: '3' }, { body: '4' }];
  const read = async (
    responses: ReturnType<typeof opened>,
    parts: readonly { readonly path: string; readonly page: typeof first; readonly isLast: boolean }[],
  ) => {
    const texts: string[] = [];
    for (const { path, page, isLast } of parts) {
      const { response, keep } = await responses.send(request(path), { signal }, page);
      await keep({ isLast });
      texts.push(textOf(response));
    }
    return texts;
  };
  const one = { path: '/list?page=1', page: first, isLast: false };
  const two = { path: '/list?page=2', page: later, isLast: true };

  test('is kept with all pages of its read', async () => {
    const api = scripted(...pages);
    const store = memoryStore();
    expect(await read(opened(api, store, cache), [one, two])).toEqual(['1', '2']);
    expect(await read(opened(api, store, cache), [one, two])).toEqual(['1', '2']);
    expect(api.sent).toHaveLength(2);
  });

  test('is not kept of a read that did not come to its end', async () => {
    const api = scripted(...pages);
    const store = memoryStore();
    await read(opened(api, store, cache), [one]);
    expect(await read(opened(api, store, cache), [one, two])).toEqual(['2', '3']);
  });

  test('does not join pages of another read, which another process began', async () => {
    const api = scripted(...pages);
    const store = memoryStore();
    await read(opened(api, store, cache), [one, two]);
    expect(await read(opened(api, store, cache), [two])).toEqual(['3']);
  });
});
