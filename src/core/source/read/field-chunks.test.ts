import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import {
  type Api,
  type ApiReply,
  type ApiRequest,
  inQuery,
  readUntilFailure,
  sourceOf,
  startApi,
} from '../source-fixture.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

type Json = Readonly<Record<string, unknown>>;

const all: readonly Json[] = [1, 2, 3, 4, 5].map((id) => ({ id, a: `a${id}`, b: `b${id}`, c: `c${id}`, at: id }));

/** An API that gives the fields that are asked for, under `props`, two records a page. */
const giving =
  (records: (fields: readonly string[], request: ApiRequest) => readonly Json[] = () => all) =>
  (request: ApiRequest): ApiReply => {
    const fields = (request.url.searchParams.get('fields') ?? '').split(',');
    const offset = Number(request.url.searchParams.get('offset') ?? 0);
    const page = records(fields, request).slice(offset, offset + 2);
    const data = page.map(({ id, ...rest }) => ({
      id,
      props: Object.fromEntries(Object.entries(rest).filter(([name]) => fields.includes(name))),
    }));
    return { body: { data } };
  };

/** What is undefined is left out of the spec. */
const written = (value: Json): Json => JSON.parse(JSON.stringify(value));

const sourceAt = (api: Pick<Api, 'origin'>, chunks: Json, parts: Json = {}) =>
  sourceOf({
    api,
    evaluator,
    http: { rateLimit: { maxConcurrent: 1 } },
    resource: {
      request: { path: '/items', query: { fields: '{{ chunk.fields }}' } },
      response: { records: 'data' },
      pagination: { kind: 'offset', size: 2, inject: inQuery('offset') },
      fieldChunks: written({ fields: ['a', 'b', 'c'], size: 2, join: ',', ...chunks }),
      ...parts,
    },
  });

const asked = (api: Api) =>
  api.requests.map(({ url }) => `${url.searchParams.get('offset')}: ${url.searchParams.get('fields')}`);
const whole = all.map(({ id, a, b, c }) => ({ id, props: { a, b, c } }));

describe('a list of fields that is too long for one request', () => {
  test('is requested in chunks for each page, and the records are merged by key', async () => {
    await using api = await startApi(giving());
    const { pages, error } = await readUntilFailure(sourceAt(api, {}));
    expect(error).toBeNull();
    expect(pages.flatMap(({ records }) => records)).toEqual(whole);
    expect(asked(api).toSorted()).toEqual(['0: a,b', '0: c', '2: a,b', '2: c', '4: a,b', '4: c']);
  });

  test('may be limited by characters, and has fields in every chunk', async () => {
    await using api = await startApi(giving());
    const { pages } = await readUntilFailure(sourceAt(api, { always: ['at'], size: undefined, maxLength: 4 }));
    expect(new Set(asked(api).map((text) => text.slice(3)))).toEqual(new Set(['at,a', 'at,b', 'at,c']));
    expect(pages[0]?.records[0]).toEqual({ id: 1, props: { at: 1, a: 'a1', b: 'b1', c: 'c1' } });
  });

  test('may come from a template, and may be a list in the request', async () => {
    await using api = await startApi(giving());
    const parts = { request: { path: '/items', query: { fields: '{{ chunk.fields }}' }, arrayFormat: 'comma' } };
    const { pages } = await readUntilFailure(
      sourceAt(api, { fields: '{{ ["a", "b", "c", "a"] }}', join: undefined }, parts),
    );
    expect(pages.flatMap(({ records }) => records)).toEqual(whole);
  });

  test('keeps the older value where a record changes between two chunks, so that the next run reads it again', async () => {
    const newer = (fields: readonly string[]) =>
      all.map((record) => (fields.includes('c') ? { ...record, at: 99 } : record));
    await using api = await startApi(giving(newer));
    const { pages } = await readUntilFailure(sourceAt(api, { always: ['at'] }));
    expect(pages[0]?.records[0]).toEqual({ id: 1, props: { at: 1, a: 'a1', b: 'b1', c: 'c1' } });
  });

  test('fails the page when a record is not in all chunks, so that it is read again', async () => {
    await using api = await startApi(giving((fields) => (fields.includes('c') ? all.slice(1) : all)));
    const { pages, error } = await readUntilFailure(sourceAt(api, {}));
    expect(pages).toEqual([]);
    expect(error).toMatchObject({ code: 'source_unavailable', message: expect.stringContaining('onMissing') });
  });

  test('keeps such records with the fields of the other chunks where the spec says so', async () => {
    await using api = await startApi(
      giving((fields) => all.slice(0, 2).slice(...(fields.includes('c') ? [1] : [0, 1]))),
    );
    const { pages } = await readUntilFailure(sourceAt(api, { onMissing: 'keep' }));
    expect(pages.flatMap(({ records }) => records)).toEqual([
      { id: 1, props: { a: 'a1', b: 'b1' } },
      { id: 2, props: { c: 'c2' } },
    ]);
  });

  test('fails for an item without a key', async () => {
    await using api = await startApi(giving());
    const { error } = await readUntilFailure(sourceAt(api, { mergeBy: ['ref'] }));
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('"ref"') });
  });

  test('never takes an empty response to a later chunk for an empty page', async () => {
    await using api = await startApi((request) => {
      const isLater = request.url.searchParams.get('fields') === 'c';
      return isLater ? { status: 404 } : giving()(request);
    });
    const { pages, error } = await readUntilFailure(
      sourceAt(api, {}, { errors: [{ when: { status: [404] }, action: 'empty' }] }),
    );
    expect(pages).toEqual([]);
    expect(error).toMatchObject({ code: 'source_rejected' });
  });

  test.each([
    ['a name that fits in no chunk', { size: undefined, maxLength: 3, fields: ['long name'] }, 'longer than maxLength'],
    ['more chunks than a page may have', { size: 1, fields: '{{ [1..101] }}' }, '101 requests'],
    ['a template that gives no list', { fields: '{{ 1 }}' }, 'does not return a list'],
  ])('fails for %s', async (_what, chunks, message) => {
    await using api = await startApi(giving());
    const { error } = await readUntilFailure(sourceAt(api, chunks));
    expect(error).toMatchObject({ code: 'spec_invalid', message: expect.stringContaining(message) });
    expect(api.requests).toEqual([]);
  });
});
