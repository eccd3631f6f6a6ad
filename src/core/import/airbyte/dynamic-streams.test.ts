import { describe, expect, test } from 'vitest';
import { imported, refusalOf, resourceOf, streamOf } from './airbyte-fixture.ts';

type Part = Readonly<Record<string, unknown>>;

const map = (field_path: readonly string[], value: string, more: Part = {}): Part => ({
  type: 'ComponentMappingDefinition',
  field_path,
  value,
  ...more,
});

const template = streamOf({
  stream: { $parameters: { path: '/none', kind: 'any' } },
  requester: { path: "{{ parameters['path'] }}", request_parameters: { kind: "{{ parameters['kind'] }}" } },
});

/** Streams of a template for a list of values. */
const templated = (items: readonly Part[], mapping: readonly Part[], more: Part = {}) =>
  imported([], {
    definitions: { template },
    dynamic_streams: [
      {
        type: 'DynamicDeclarativeStream',
        stream_template: { $ref: '#/definitions/template' },
        components_resolver: {
          type: 'ParametrizedComponentsResolver',
          stream_parameters: { type: 'StreamParametersDefinition', list_of_parameters_for_stream: items },
          components_mapping: mapping,
        },
        ...more,
      },
    ],
  });

const name = map(['name'], "{{ components_values['name'] }}");

describe('the streams of a template over a list of values', () => {
  const items = [
    { name: 'cats', path: '/v2/cats', fields: ['a', 'b'], size: 50 },
    { name: 'dogs', path: '/v2/dogs', fields: ['c'], size: 10 },
  ];

  test('are resources with the values of their item', () => {
    const result = templated(items, [
      name,
      map(['retriever', 'requester', 'path'], "{{ components_values['path'] }}"),
      map(['retriever', 'requester', 'request_parameters', 'size'], "{{ components_values['size'] }}", {
        create_or_update: true,
      }),
      map(['retriever', 'record_selector', 'extractor', 'field_path', '0'], 'rows'),
    ]);
    expect(result.report).toEqual(
      ['cats', 'dogs'].map((key) => ({ name: key, status: 'converted', path: null, reason: null })),
    );
    expect([0, 1].map((index) => resourceOf(result, index))).toMatchObject([
      { key: 'cats', request: { path: '/v2/cats', query: { size: 50 } }, response: { records: 'rows' } },
      { key: 'dogs', request: { path: '/v2/dogs', query: { size: 10 } }, response: { records: 'rows' } },
    ]);
  });

  test('have the parameters of their item, also where the template has parameters of its own', () => {
    const mapping = [name, map(['$parameters', 'path'], "{{ components_values['path'] }}")];
    expect(resourceOf(templated(items, mapping), 1)['request']).toMatchObject({ path: '/v2/dogs' });
    const own = templated(items, mapping, { use_parent_parameters: false });
    expect(resourceOf(own, 1)['request']).toMatchObject({ path: '/none' });
  });

  test('leave out a place that the template does not have', () => {
    const result = templated(items, [name, map(['retriever', 'nothing', 'here'], 'x')]);
    expect(result.report.map(({ status }) => status)).toEqual(['converted', 'converted']);
  });
});

describe('a template is refused', () => {
  const one = [{ name: 'cats', odd: 'a: b', list: ['x'] }];
  test.each<[string, readonly Part[], Part, string, string]>([
    [
      'for a list that a response has',
      [name],
      { components_resolver: { type: 'HttpComponentsResolver', components_mapping: [] } },
      'dynamic_streams.0.components_resolver',
      'a connection or a response',
    ],
    [
      'for a value that a connection has',
      [name, map(['primary_key'], "{{ config['key'] }}")],
      {},
      'dynamic_streams.0.components_resolver.components_mapping.1.value',
      'must not depend on a connection',
    ],
    [
      'for a pattern',
      [map(['retriever', '*'], 'x')],
      {},
      'dynamic_streams.0.components_resolver.components_mapping.0.field_path',
      'name one place',
    ],
    [
      'for a text that YAML reads as something else',
      [map(['name'], "{{ components_values['odd'] }}")],
      {},
      'dynamic_streams.0.components_resolver.components_mapping.0.value',
      'read as YAML',
    ],
  ])('%s', (_what, mapping, more, path, reason) => {
    const [at, why] = refusalOf(templated(one, mapping, more));
    expect(at).toBe(path);
    expect(why).toContain(reason);
  });

  test('for more streams than can be held', () => {
    const items = Array.from({ length: 28_000 }, (_, index) => ({ name: `s${index}` }));
    expect(refusalOf(templated(items, [name]))).toEqual([
      'dynamic_streams.0.components_resolver',
      'the streams of all templates have too many values',
    ]);
  });
});
