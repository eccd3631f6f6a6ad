import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { credentialValues } from '../auth/credentials.ts';
import { createSigner } from '../auth/request-signer.ts';
import type { Source } from '../source.ts';
import { sourceOf } from '../source-fixture.ts';
import { buildRequest } from './request.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const api = { origin: 'https://api.test' };
const position = { index: 1, number: 1, offset: 0, cursor: null, url: null };
const page = { position, window: { from: '2025-01-01T00:00:00.000Z', to: null }, watermark: null };

interface Parts {
  readonly resource?: Readonly<Record<string, unknown>>;
  readonly http?: Readonly<Record<string, unknown>>;
  readonly auth?: Readonly<Record<string, unknown>>;
}

const source = (parts: Parts, overrides: Partial<Source> = {}) =>
  sourceOf({ api, evaluator, resource: {}, ...parts }, overrides);

describe('a request', () => {
  test('has the query of http and its own, without what is null', async () => {
    const request = {
      path: '/items',
      query: { created: { gte: '{{ window.from }}', lt: '{{ window.to }}' }, state: 'all', n: '{{ page.size * 2 }}' },
    };
    const pagination = { kind: 'page', size: 50, inject: { in: 'query', name: 'page' } };
    const { http, url } = await buildRequest(
      source({ resource: { request, pagination }, http: { query: { state: 'open', v: '2' } } }),
      page,
    );
    expect(decodeURIComponent(http.url.search)).toBe(
      '?state=all&v=2&created[gte]=2025-01-01T00:00:00.000Z&n=100&page=1',
    );
    expect(url).toBe(http.url.href);
  });

  test('is not sent without the value that tells its partition from others, unless the template names a default', async () => {
    const each = { p: { id: 1, region: null } };
    const withQuery = (region: string) =>
      buildRequest(source({ resource: { request: { path: '/items', query: { region } } } }, { each }), page);
    await expect(withQuery('{{ each.p.region }}')).rejects.toThrow(
      '{{ each.p.region }} has no value. A request without it may return the records of other partitions',
    );
    const { http } = await withQuery('{{ each.p.region ? each.p.region : "none" }}');
    expect(http.url.search).toBe('?region=none');
  });

  test('has the headers of http and its own, in lower case, without what is null', async () => {
    const request = { path: '/items', headers: { 'X-Account': '{{ params.account }}', Accept: 'text/csv' } };
    const { http } = await buildRequest(
      source({ resource: { request }, http: { headers: { 'X-Version': '1' } } }),
      page,
    );
    expect(http.headers).toEqual({ accept: 'text/csv', 'x-version': '1' });
  });

  test('keeps the JSON types of a body and leaves out its null values', async () => {
    const json = {
      limit: '{{ page.size }}',
      ids: '{{ params.ids }}',
      since: '{{ window.to }}',
      text: 'a-{{ params.n }}',
    };
    const pagination = { kind: 'page', size: 50, inject: { in: 'body', name: 'paging.page' } };
    const { http } = await buildRequest(
      source(
        { resource: { request: { method: 'POST', path: '/q', body: { json } }, pagination } },
        { params: { ids: [1, 2], n: 3 } },
      ),
      page,
    );
    expect(JSON.parse(http.body ?? '')).toEqual({ limit: 50, ids: [1, 2], text: 'a-3', paging: { page: 1 } });
    expect(http.headers['content-type']).toBe('application/json');
  });

  test('writes forms, text and GraphQL with their own content types', async () => {
    const send = async (body: unknown) => {
      const { http } = await buildRequest(
        source({ resource: { request: { method: 'POST', path: '/q', body } } }),
        page,
      );
      return [http.body, http.headers['content-type']];
    };
    expect(await send({ form: { a: 'b c', d: ['1', '2'] } })).toEqual([
      'a=b+c&d=1&d=2',
      'application/x-www-form-urlencoded',
    ]);
    expect(await send({ text: 'since {{ window.from }}' })).toEqual([
      'since 2025-01-01T00:00:00.000Z',
      'text/plain; charset=utf-8',
    ]);
    const [graphql] = await send({ graphql: { query: 'query { a }', variables: { x: '{{ window.from }}' } } });
    expect(JSON.parse(graphql ?? '')).toEqual({ query: 'query { a }', variables: { x: '2025-01-01T00:00:00.000Z' } });
  });

  test('for a link is exactly that address', async () => {
    const resource = { request: { path: '/items', query: { limit: '5' } }, pagination: { kind: 'link_header' } };
    const link = 'https://api.test/items?after=x%2Fy';
    const { http } = await buildRequest(source({ resource }), {
      ...page,
      position: { ...position, index: 2, url: link },
    });
    expect(http.url.href).toBe(link);
  });

  test('stays on the base URL and its allowed hosts, also when a stored link does not', async () => {
    const link = { ...page, position: { ...position, index: 2, url: 'https://files.test/x' } };
    await expect(buildRequest(source({}), link)).rejects.toMatchObject({ code: 'egress_blocked' });
    const { http } = await buildRequest(source({ http: { allowedHosts: ['files.test'] } }), link);
    expect(http.url.host).toBe('files.test');
    const away = source({ resource: { request: { url: 'https://{{ params.h }}/x' } } }, { params: { h: 'evil.test' } });
    await expect(buildRequest(away, page)).rejects.toMatchObject({ code: 'egress_blocked' });
  });

  test('needs a value in every hole of its path', async () => {
    const resource = { request: { path: '/a/{{ params.x }}' } };
    await expect(buildRequest(source({ resource }), page)).rejects.toMatchObject({ code: 'spec_invalid' });
  });

  test('refuses a header value with a line break', async () => {
    const resource = { request: { path: '/a', headers: { 'x-a': '{{ params.x }}' } } };
    const broken = source({ resource }, { params: { x: 'a\r\nx-admin: 1' } });
    await expect(buildRequest(broken, page)).rejects.toMatchObject({ code: 'spec_invalid' });
  });

  test('is conditional only for the very request and spec the validators came with', async () => {
    const resource = { request: { path: '/items', cache: { mode: 'conditional' } } };
    const plain = await buildRequest(source({ resource }), page);
    const { specChecksum } = source({});
    const at = '2026-01-01T00:00:00.000Z';
    const validators = {
      requestKey: plain.key,
      specChecksum,
      etag: '"v1"',
      lastModified: null,
      at,
      isWhole: true,
    } as const;
    const same = await buildRequest(source({ resource }, { validators }), page);
    expect(same.http.headers['if-none-match']).toBe('"v1"');
    for (const change of [{ requestKey: 'x' }, { specChecksum: 'x' }]) {
      const other = source({ resource }, { validators: { ...validators, ...change } });
      expect((await buildRequest(other, page)).http.headers).not.toHaveProperty('if-none-match');
    }
  });
});

describe('credentials', () => {
  const secrets = { key: 's3cr3t-value', user: 'anna', password: 'hunter22' };
  const signed = async (auth: Readonly<Record<string, unknown>>) => {
    const from = source({ auth }, { secrets });
    const request = await buildRequest(from, page);
    const { signal } = new AbortController();
    return { request, sent: await createSigner(from, signal).sign(request.http), values: await credentialValues(from) };
  };

  test('none adds nothing', async () => {
    const { sent } = await signed({ kind: 'none' });
    expect(sent.headers).toEqual({ accept: 'application/json' });
  });

  test.each([
    [{ kind: 'api_key', in: 'header', name: 'X-Api-Key', value: '{{ secrets.key }}' }, 'x-api-key', 's3cr3t-value'],
    [
      { kind: 'api_key', in: 'header', name: 'Authorization', prefix: 'Token ', value: '{{ secrets.key }}' },
      'authorization',
      'Token s3cr3t-value',
    ],
    [{ kind: 'api_key', in: 'cookie', name: 'sid', value: '{{ secrets.key }}' }, 'cookie', 'sid=s3cr3t-value'],
    [{ kind: 'bearer', token: '{{ secrets.key }}' }, 'authorization', 'Bearer s3cr3t-value'],
    [
      { kind: 'basic', username: '{{ secrets.user }}', password: '{{ secrets.password }}' },
      'authorization',
      'Basic YW5uYTpodW50ZXIyMg==',
    ],
    [{ kind: 'basic', username: '{{ secrets.user }}' }, 'authorization', 'Basic YW5uYTo='],
    [{ kind: 'headers', headers: { 'X-A': '{{ secrets.key }}', 'X-B': '{{ secrets.none }}' } }, 'x-a', 's3cr3t-value'],
  ])('%j go into the header %s', async (auth, name, value) => {
    const { sent } = await signed(auth);
    expect(sent.headers[name]).toBe(value);
  });

  test('in the query stay out of the address that is remembered', async () => {
    const { request, sent } = await signed({ kind: 'api_key', in: 'query', name: 'k', value: '{{ secrets.key }}' });
    expect(sent.url.search).toBe('?k=s3cr3t-value');
    expect(request.url).not.toContain('s3cr3t-value');
  });

  test('are all known to the redactor, in every kind', async () => {
    const { values } = await signed({
      kind: 'basic',
      username: '{{ secrets.user }}',
      password: '{{ secrets.password }}',
    });
    expect(values).toEqual(expect.arrayContaining(['s3cr3t-value', 'anna', 'hunter22', 'anna:hunter22']));
  });

  test('that are empty fail the read as refused credentials, without naming a value', async () => {
    await expect(signed({ kind: 'bearer', token: '{{ secrets.none }}' })).rejects.toMatchObject({
      code: 'auth_failed',
    });
  });
});
