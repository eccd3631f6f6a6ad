import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { type ApiReply, readUntilFailure, sourceOf, startApi } from '../source-fixture.ts';
import { createDecodeQueue } from './decode-turns.ts';
import { zipOf } from './zip-fixture.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

/** What a read of an API with this one response gives. */
async function readOf(reply: ApiReply, resource: Readonly<Record<string, unknown>>, http = {}) {
  await using api = await startApi(() => reply);
  const { pages, error } = await readUntilFailure(sourceOf({ api, evaluator, resource, http }));
  return { records: pages.flatMap((page) => page.records), error, missing: pages.some(({ gaps }) => gaps.length > 0) };
}

const typed = (type: string) => ({ 'content-type': type });
const csv = 'id,name\r\n1,"Ann, é"\r\n2,\r\n';
const records = [
  { id: '1', name: 'Ann, é' },
  { id: '2', name: '' },
];

describe('csv', () => {
  const response = { decoder: 'csv' };

  test.each<[string, ApiReply]>([
    ['a text', { body: csv, headers: typed('text/csv; charset=utf-8') }],
    ['a text with a mark', { body: `\uFEFF${csv}` }],
    ['a text in latin1', { body: Buffer.from(csv, 'latin1'), headers: typed('text/csv; charset=ISO-8859-1') }],
    ['an encoded response', { body: gzipSync(csv), headers: { 'content-encoding': 'gzip' } }],
    ['a gzip file', { body: gzipSync(csv), headers: typed('application/octet-stream') }],
    ['an encoded gzip file', { body: gzipSync(gzipSync(csv)), headers: { 'content-encoding': 'gzip' } }],
    ['a zip archive', { body: zipOf([{ name: 'export.csv', content: csv }]), headers: typed('application/zip') }],
  ])('gives the rows of %s', async (_, reply) => {
    expect(await readOf(reply, { response })).toMatchObject({ records, error: null });
  });

  test('an empty body proves nothing: it is missing records, a response with only a header is none', async () => {
    const empty = await readOf({ body: '' }, { response });
    expect(empty.error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('missing or null') });
    const declared = await readOf({ body: '' }, { response: { ...response, recordsMissing: 'empty' } });
    expect(declared).toMatchObject({ records: [], missing: true, error: null });
    expect(await readOf({ body: 'id\n' }, { response })).toMatchObject({ records: [], missing: false, error: null });
  });

  test('fields become numbers where map says so', async () => {
    const map = '{ "id": $number(id) }';
    expect((await readOf({ body: csv }, { response: { ...response, map } })).records).toEqual([{ id: 1 }, { id: 2 }]);
  });

  test.each([
    ['gzip file', gzipSync(Buffer.alloc(5_000_000))],
    ['zip archive', zipOf([{ name: 'a', content: Buffer.alloc(5_000_000) }])],
  ])('a %s of more than maxResponseBytes is refused', async (form, body) => {
    const { error } = await readOf({ body }, { response }, { maxResponseBytes: 100_000 });
    const message = expect.stringContaining(`${form} of more than 100000 bytes`);
    expect(error).toMatchObject({ code: 'source_rejected', message });
  });

  test('bytes that are not UTF-8 are refused where no charset is declared', async () => {
    const { error } = await readOf({ body: Buffer.from(csv, 'latin1'), headers: typed('text/csv') }, { response });
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('not valid utf-8') });
  });
});

describe('xml', () => {
  const response = { decoder: 'xml', records: 'feed.item' };
  const read = (body: string | Buffer, settings = {}, contentType = 'application/xml') =>
    readOf({ body, headers: typed(contentType) }, { response: { ...response, ...settings } });

  test('one element is a list of one, no element is missing records', async () => {
    const two = await read('<feed><item id="1"><a>x</a></item><item id="2"/></feed>');
    expect(two.records).toEqual([{ '@id': '1', a: 'x' }, { '@id': '2' }]);
    expect((await read('<feed><item id="1"/></feed>')).records).toEqual([{ '@id': '1' }]);
    expect((await read('<feed/>')).error).toMatchObject({ code: 'source_rejected' });
    expect(await read('<feed/>', { recordsMissing: 'empty' })).toMatchObject({ records: [], missing: true });
  });

  test('elements of only text are records for map, one as well as two', async () => {
    const map = '{ "id": $ }';
    expect((await read('<feed><item>7</item></feed>', { map })).records).toEqual([{ id: '7' }]);
    expect((await read('<feed><item>7</item><item>8</item></feed>', { map })).records).toHaveLength(2);
    const whole = { records: 'feed', recordsMissing: 'empty' };
    expect(await read('<feed/>', whole)).toMatchObject({ records: [], missing: true });
  });

  test('is read in the charset of the content type, then in that of its declaration', async () => {
    const document = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?><feed><item n="é"/></feed>`;
    expect((await read(Buffer.from(document('ISO-8859-1'), 'latin1'))).records).toEqual([{ '@n': 'é' }]);
    const declared = await read(document('ISO-8859-1'), {}, 'text/xml; charset=utf-8');
    expect(declared.records).toEqual([{ '@n': 'é' }]);
  });

  test('pages follow an expression over the document', async () => {
    await using api = await startApi(({ url }) => ({
      body: url.searchParams.has('p') ? '<feed><item id="2"/></feed>' : '<feed next="b"><item id="1"/></feed>',
    }));
    const next = 'body.feed.`@next`';
    const pagination = { kind: 'cursor', next, inject: { in: 'query', name: 'p' } };
    const { pages, error } = await readUntilFailure(sourceOf({ api, evaluator, resource: { response, pagination } }));
    expect(error).toBeNull();
    expect(pages.flatMap((page) => page.records)).toEqual([{ '@id': '1' }, { '@id': '2' }]);
  });

  test('error rules see the document, and an HTML page is none', async () => {
    const expr = "body.fault.code = '42'";
    const errors = [{ when: { expr }, action: 'fail', message: 'The account is locked.' }];
    const locked = await readOf({ body: '<fault><code>42</code></fault>' }, { response, errors });
    expect(locked.error).toMatchObject({ message: 'The account is locked.' });
    const html = await readOf({ body: '<!doctype html><p>fault' }, { response, errors });
    expect(html.error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('DOCTYPE') });
  });
});

describe('text, jsonl and json', () => {
  test('a text is one record', async () => {
    const { records: found } = await readOf({ body: 'a\nb' }, { response: { decoder: 'text', map: '{ "id": text }' } });
    expect(found).toEqual([{ id: 'a\nb' }]);
  });

  test.each([
    ['jsonl', '{"id":"é"}\n{"id":2}'],
    ['json', '[{"id":"é"},{"id":2}]'],
  ])('%s is unpacked, and UTF-8 whatever the content type says', async (decoder, body) => {
    const headers = typed('application/json; charset=iso-8859-1');
    const expected = { records: [{ id: 'é' }, { id: 2 }], error: null };
    expect(await readOf({ body, headers }, { response: { decoder } })).toMatchObject(expected);
    expect(await readOf({ body: gzipSync(body), headers }, { response: { decoder } })).toMatchObject(expected);
  });
});

test('a packed file takes the memory of its content, not of its bytes', async () => {
  const queue = createDecodeQueue(6_000_000);
  queue.open('other').open().hold(3_000_000);
  await using api = await startApi(() => ({ body: gzipSync(Buffer.alloc(5_000_000, 'x')) }));
  const resource = { response: { decoder: 'text' } };
  const source = sourceOf({ api, evaluator, resource }, { decodeTurns: queue.open('org') });
  const { error } = await readUntilFailure(source);
  expect(error).toMatchObject({ name: 'ThrottledError', reason: 'memory' });
});
