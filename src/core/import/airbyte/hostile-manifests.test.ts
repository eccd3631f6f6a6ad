import { describe, expect, test } from 'vitest';
import { cpuMsOf } from '../../work/effort-fixture.ts';
import { importAirbyte } from './airbyte.ts';
import { imported, refusalOf, streamOf } from './airbyte-fixture.ts';

/** Milliseconds in which every hostile manifest ends; all of them end far earlier. */
const limitMs = 10_000;

describe('a hostile manifest', () => {
  test.each([
    ['no object', 'text'],
    ['a list', []],
    ['no streams', {}],
    ['streams that are no list', { streams: {} }],
    ['a key that reaches a prototype', JSON.parse('{"streams": [], "__proto__": {"a": 1}}')],
    ['values too deep', { streams: JSON.parse(`${'['.repeat(80)}${']'.repeat(80)}`) }],
    ['a text too long', { streams: ['x'.repeat(300_000)] }],
    ['too many values', { streams: Array.from({ length: 600_000 }, () => 1) }],
  ])('with %s is an error of validation', (_, document) => {
    expect(() => importAirbyte(document)).toThrow(expect.objectContaining({ code: 'validation' }));
  });

  test('that contains itself is an error of validation', () => {
    const document: Record<string, unknown> = { streams: [] };
    document['definitions'] = document;
    expect(() => importAirbyte(document)).toThrow(expect.objectContaining({ code: 'validation' }));
  });

  test.each<[name: string, definitions: object, reason: string]>([
    ['that leads to itself', { a: { $ref: '#/definitions/a' } }, 'leads to itself'],
    ['in a circle', { a: { $ref: '#/definitions/b' }, b: { c: '#/definitions/a' } }, 'leads to itself'],
    ['to nothing', { a: '#/definitions/nothing' }, 'nothing is at the reference'],
    ['to a prototype', { a: '#/definitions/constructor' }, 'nothing is at the reference'],
  ])('with a reference %s loses that stream alone', (_, definitions, reason) => {
    const result = imported([{ $ref: '#/definitions/a' }, streamOf()], { definitions });
    expect(result.report.map(({ status }) => status)).toEqual(['refused', 'converted']);
    expect(refusalOf(result)[1]).toContain(reason);
  });

  test(
    'with references that double at each step loses that stream alone, in bounded time',
    () => {
      const levels = Array.from({ length: 40 }, (_, level) => [
        `l${level}`,
        { a: `#/definitions/l${level + 1}`, b: `#/definitions/l${level + 1}` },
      ]);
      const definitions = { ...Object.fromEntries(levels), l40: 1 };
      const result = imported([{ type: 'DeclarativeStream', bomb: '#/definitions/l0' }, streamOf()], { definitions });
      expect(result.report.map(({ status }) => status)).toEqual(['refused', 'converted']);
      expect(refusalOf(result)[1]).toContain('expand to more than');
    },
    limitMs,
  );

  test(
    'with many such streams ends in bounded time',
    () => {
      const wide = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, '#/definitions/list']));
      const definitions = { wide, list: Array.from({ length: 100 }, () => 1) };
      const result = imported(
        Array.from({ length: 300 }, () => ({ type: 'DeclarativeStream', $ref: '#/definitions/wide' })),
        { definitions },
      );
      expect(result.report).toHaveLength(300);
      expect(result.report.every(({ status }) => status === 'refused')).toBe(true);
    },
    limitMs,
  );

  const doubled = Array.from({ length: 30 }, (_, step) => `{% set a${step + 1} = a${step} ~ a${step} %}`).join('');
  const long = 'a'.repeat(1000);
  test.each([
    ['doubles a text', `{% set a0 = "${long}" %}${doubled}{{ a30 }}`],
    ['doubles a list', `{% set a0 = ["${long}"] %}${doubled.replaceAll(' ~ ', ' + ')}{{ a30 }}`],
    ['puts a list into a list', `{% set a0 = [1] %}${doubled.replaceAll(/= (a\d+) ~ a\d+/g, '= [$1, $1]')}{{ a30 }}`],
    ['replaces each character', `{{ "${long}".replace("a", "${long}").replace("a", "${long}") }}`],
    ['joins by a text', `{{ "${long}".replace("a", "b,").split(",") | join("${long}") }}`],
    ['repeats a given text', '/{{ parameters.long }}'.repeat(500)],
  ])('with an expression that %s loses that stream alone', (_, path) => {
    const $parameters = { long: long.repeat(50) };
    const result = imported([streamOf({ requester: { path, $parameters } }), { ...streamOf(), name: 'others' }]);
    expect(result.report.map(({ status }) => status)).toEqual(['refused', 'converted']);
    expect(refusalOf(result)[1]).toContain('makes a value of more than 100000 characters');
  });

  test.each([
    ['a description of brackets', 'a', '<'.repeat(150_000)],
    ['a text to strip', '{{ parameters.spaces.strip() }}', ''],
  ])('with %s takes linear time', (_, path, description) => {
    const $parameters = { spaces: `x${' '.repeat(150_000)}x` };
    const connection_specification = { type: 'object', properties: { key: { type: 'string', description } } };
    const header = { request_headers: { 'x-key': '{{ config["key"] }}' } };
    const cpuMs = cpuMsOf(() =>
      imported([streamOf({ requester: { path, $parameters, ...header } }), { ...streamOf(), name: 'others' }], {
        spec: { type: 'Spec', connection_specification },
      }),
    );
    expect(cpuMs).toBeLessThan(2000);
  });

  test('with many slashes within an address takes linear time', () => {
    const url_base = `https://a.example${'/'.repeat(150_000)}x`;
    expect(cpuMsOf(() => imported([streamOf({ requester: { url_base } })]))).toBeLessThan(2000);
  });

  test('with parents without end is refused', () => {
    const parent: Record<string, unknown> = { parent_key: 'id', partition_field: 'p', stream: '#/definitions/items' };
    const items = streamOf({
      retriever: { partition_router: { type: 'SubstreamPartitionRouter', parent_stream_configs: [parent] } },
    });
    const result = imported(['#/definitions/items'], { definitions: { items } });
    expect(refusalOf(result)[1]).toContain('leads to itself');
  });

  test(
    'with a long template of holes ends in bounded time',
    () => {
      const path = `/${'{{ config.a or config.b }}'.repeat(700)}`;
      const result = imported([streamOf({ requester: { path } })]);
      expect(result.report).toHaveLength(1);
    },
    limitMs,
  );
});
