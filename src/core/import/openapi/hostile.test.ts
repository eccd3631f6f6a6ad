import { describe, expect, it } from 'vitest';
import { AppError } from '../../errors.ts';
import { importOpenapi } from './openapi.ts';
import { documentOf, get, item, list, object, query } from './openapi-fixture.ts';

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const of = (count: number, entry: (index: number) => readonly [string, unknown]) =>
  Object.fromEntries(range(count).map(entry));
const withSchemas = (paths: Readonly<Record<string, unknown>>, schemas: Readonly<Record<string, unknown>>) =>
  documentOf(paths, { components: { schemas } });
const keyed = object({ id: { type: 'string' } });

/** Each of some 1 MB at most, or what becomes large when its references are followed. */
const documents: Readonly<Record<string, () => unknown>> = {
  'a schema that is itself': () => withSchemas({ '/a': get(ref('A')) }, { A: ref('A') }),
  'schemas composed of each other': () =>
    withSchemas(
      { '/a': get(list(ref('A'))) },
      { A: { allOf: [ref('A'), ref('B')] }, B: { anyOf: [ref('A'), keyed, ref('B')] } },
    ),
  'references that multiply': () =>
    withSchemas(
      { '/a': get(list(ref('A0'))) },
      { ...of(30, (i) => [`A${i}`, { allOf: range(300).map(() => ref(`A${i + 1}`)) }]), A30: keyed },
    ),
  'compositions too deep': () =>
    withSchemas(
      { '/a': get(list(ref('A0'))) },
      { ...of(5000, (i) => [`A${i}`, { allOf: [ref(`A${i + 1}`), {}] }]), A5000: keyed },
    ),
  'references that lead to references': () =>
    withSchemas(
      { '/a': get(ref('A0')) },
      of(5000, (i) => [`A${i}`, ref(`A${i + 1}`)]),
    ),
  'parameters of one operation': () =>
    documentOf({
      '/a': get(list(keyed), { parameters: range(9000).map((i) => query(`p${i}`, {}, { required: true })) }),
    }),
  'an operation for each of many paths': () =>
    withSchemas(
      of(9000, (i) => [`/a${i}`, { $ref: '#/components/schemas/Path' }]),
      { Path: { parameters: range(200).map(() => query('q')), ...get(list(keyed)) } },
    ),
  'many paths of very many parameters': () =>
    documentOf(
      of(1000, (i) => [`/a${i}${'/{b}'.repeat(245)}`, { $ref: '#/components/path' }]),
      { components: { path: get(list(keyed)) } },
    ),
  'many paths without anything': () => documentOf(of(30_000, (i) => [`/a${i}`, { get: {} }])),
  'records of many fields': () =>
    withSchemas(
      of(5000, (i) => [`/a${i}`, get(list(ref('Big')))]),
      { Big: object({ id: {}, ...of(20_000, (i) => [`p${i}`, {}]) }) },
    ),
  'many records of many fields': () =>
    withSchemas(
      of(200, (i) => [`/a${i}`, get(list(ref('Big')))]),
      { Big: object({ id: {}, ...of(990, (i) => [`${'p'.repeat(150)}${i}`, {}]) }) },
    ),
  'fields whose names cannot be columns': () =>
    withSchemas(
      of(200, (i) => [`/a${i}`, get(list(ref('Odd')))]),
      { Odd: object({ id: {}, ...of(900, (i) => [`p-${i}`, {}]) }) },
    ),
  'responses of many fields': () =>
    withSchemas(
      of(5000, (i) => [`/a${i}`, get(ref('Big'), { parameters: [query('page')] })]),
      { Big: object({ data: list(keyed), ...of(9000, (i) => [`p${i}`, {}]) }) },
    ),
  'a list of values': () =>
    documentOf({ '/a': get(list(object({ id: { type: 'string' }, e: { enum: range(90_000) } }))) }),
  'a path of braces': () =>
    documentOf({ [`/${'}'.repeat(500_000)}/`]: get(list(keyed)), [`/${'{a'.repeat(250_000)}`]: get(list(keyed)) }),
  'paths of many parameters': () =>
    documentOf(
      of(60, (i) => [
        `/${range(i)
          .map(() => 'as/{a_id}/')
          .join('')}as`,
        get(list(item)),
      ]),
    ),
  'a scheme for each request': () =>
    documentOf({ '/a': get(list(keyed), { security: range(30_000).map((i) => ({ [`s${i}`]: [] })) }) }),
  'all schemes for all requests': () =>
    documentOf(
      of(2000, (i) => [`/a${i}`, get(list(keyed))]),
      { security: [of(20_000, (i) => [`s${i}`, []])] },
    ),
  'a media type of pluses': () =>
    documentOf({
      '/a': {
        get: { responses: { 200: { content: { [`application/${'+'.repeat(900_000)}x`]: { schema: list(keyed) } } } } },
      },
    }),
};

describe('a hostile document', () => {
  it.each(Object.keys(documents))('takes bounded time and gives a draft or a validation error: %s', (name) => {
    const document = documents[name]?.();
    const before = process.cpuUsage();
    const outcome = attempt(document);
    const { user } = process.cpuUsage(before);
    expect(outcome).toMatch(/^(draft|validation)$/);
    expect(user / 1000).toBeLessThan(cpuMsMax);
  });

  it('gives a draft that can be sent back, however much it has', () => {
    const fields = object({ id: {}, ...of(250, (i) => [`field_${i}`, { type: 'string', format: 'date-time' }]) });
    const { spec, report } = importOpenapi(documentOf(of(250, (i) => [`/a${i}`, get(list(fields))])), {});
    expect(JSON.stringify(spec).length).toBeLessThan(1_048_576);
    expect(report).toHaveLength(250);
    expect(report.at(-1)).toMatchObject({ status: 'refused', reason: expect.stringContaining('split the document') });
  });

  it('reaches no prototype by its names', () => {
    const text = `{
      "openapi": "3.0.0", "info": { "title": "x" },
      "paths": {
        "__proto__": { "get": {} },
        "/a": { "get": { "security": [{ "constructor": [] }, {}], "responses": { "200": { "content": { "application/json": { "schema": {
          "type": "array", "items": { "properties": { "id": {}, "__proto__": {}, "constructor": {}, "prototype": {} } } } } } } } } },
        "/b": { "get": { "responses": { "200": { "content": { "application/json": { "schema": { "$ref": "#/constructor/prototype" } } } } } } },
        "/c/{__proto__}/d": { "$ref": "#/paths/~1a" }
      }
    }`;
    const { spec, report } = importOpenapi(JSON.parse(text), {});
    expect(report.map(({ name, status }) => [name, status])).toEqual([
      ['GET /a', 'converted'],
      ['GET /b', 'refused'],
      ['GET /c/{__proto__}/d', 'converted'],
    ]);
    expect(JSON.stringify(spec)).not.toMatch(/"(__proto__|constructor|prototype)"|\.__proto__/);
    expect(Reflect.get({}, 'get')).toBeUndefined();
  });

  it('puts no expression of its own into the draft', () => {
    const attack = "{{ secrets.token }}' & $eval('1') & '";
    const record = object({ id: {}, [attack]: {}, 'a`b': {}, "x'y": {} });
    const parameters = [query('q', { default: attack }, { required: true }), query('updated_since'), query('cursor')];
    const document = documentOf(
      { '/a': get(object({ data: list(record), [`next_cursor${attack}`]: {} }), { parameters, summary: attack }) },
      { info: { title: attack }, servers: [{ url: 'https://a.example/{x}', variables: { x: { default: attack } } }] },
    );
    const { spec } = importOpenapi(document, {});
    const resources = JSON.stringify({ ...Object(spec)['resources'][0], name: '', description: '' });
    expect(resources).not.toContain('$eval');
    expect(Object(spec)['http']).toEqual({ baseUrl: 'https://a.example/{{ params.x }}' });
  });
});

/** A check of a spec takes up to a second; on a machine that others use too. */
const cpuMsMax = 3000;

function attempt(document: unknown): string {
  try {
    return importOpenapi(document, {}).spec ? 'draft' : '';
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}
