import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { imported, mock, refusalOf, resourceOf, runImported, streamOf } from './airbyte-fixture.ts';

const evaluator = createTestEvaluator();
const run = runImported(evaluator);
afterAll(() => evaluator[Symbol.asyncDispose]());

/** What is delivered of these items by a stream with these transformations. */
const delivered = (
  transformations: readonly object[],
  data: readonly object[],
  rows: readonly object[],
  selector: Readonly<Record<string, unknown>> = {},
) =>
  run(imported([streamOf({ stream: { transformations }, selector })]), {
    ...(JSON.stringify(transformations).includes('config') ? { params: { region: 'eu' } } : {}),
    mocks: [mock('/items', { data })],
    expect: { delivered: rows },
  });

const add = (path: readonly string[], value: string, more: object = {}) => ({
  type: 'AddFields',
  fields: [{ path, value, ...more }],
});

describe('the records of an imported stream', () => {
  test.each<[name: string, transformation: object, item: object, row: object]>([
    ['a field of the record', add(['b'], "{{ record['a'] }}"), { a: 'x' }, { a: 'x', b: 'x' }],
    ['a number in a text', add(['b'], "{{ record['a'] }}"), { a: '12' }, { b: 12 }],
    ['a text that stays one', add(['b'], "{{ record['a'] }}", { value_type: 'string' }), { a: '12' }, { b: '12' }],
    ['a missing field as an empty text', add(['b'], "{{ record['a'] }}"), {}, { b: '' }],
    ['a value of the connection', add(['b'], "{{ config['region'] }}"), {}, { b: 'eu' }],
    ['a field inside objects', add(['b', 'c'], 'x'), { b: { d: 1 } }, { b: { d: 1, c: 'x' } }],
    ['a field on a condition', { ...add(['b'], 'x'), condition: '{{ record.a }}' }, { a: 0 }, { a: 0 }],
    [
      'a field removed',
      { type: 'RemoveFields', field_pointers: [['a'], ['b', 'c']] },
      { a: 1, b: { c: 1, d: 2 } },
      { b: { d: 2 } },
    ],
    [
      'empty texts removed',
      { type: 'RemoveFields', field_pointers: [['**']], condition: "{{ property|string == '' }}" },
      { a: '', b: { c: '', d: 1 } },
      { b: { d: 1 } },
    ],
    ['names in lower case', { type: 'KeysToLower' }, { ID2: 1 }, { id2: 1 }],
    [
      'names in snake case',
      { type: 'KeysToSnakeCase' },
      { firstName: 1, 'A B': { innerKey: 2 } },
      { first_name: 1, a_b: { inner_key: 2 } },
    ],
    ['names with a text replaced', { type: 'KeysReplace', old: ' ', new: '_' }, { 'a b': 1 }, { a_b: 1 }],
    [
      'an object flattened',
      { type: 'DpathFlattenFields', field_path: ['a'], delete_origin_value: true },
      { a: { x: 1 } },
      { x: 1 },
    ],
    [
      'objects and lists flattened',
      { type: 'FlattenFields' },
      { z: 'own', a: { z: 1, y: { x: null } }, l: ['p', { q: 2 }], o: {}, n: [] },
      { z: 'own', 'a.z': 1, 'a.y.x': null, 'l.0': 'p', 'l.1.q': 2 },
    ],
    [
      'names of objects where theirs are taken',
      { type: 'FlattenFields' },
      { n: { z: 2 }, m: { z: { w: 3 } }, z: 5 },
      { z: 5, w: 3, 'n.z': 2 },
    ],
    [
      'objects flattened, and lists as they are',
      { type: 'FlattenFields', flatten_lists: false },
      { a: { y: { x: 3 } }, l: [1, 2], one: [[1]] },
      { x: 3, l: [1, 2], one: [[1]] },
    ],
    [
      'an object in place of the record',
      { type: 'DpathFlattenFields', field_path: ['a'], replace_record: true },
      { a: { id: 9 } },
      { id: 9 },
    ],
  ])('have %s', async (_, transformation, item, row) => {
    expect(await delivered([transformation], [{ id: 1, ...item }], [{ id: 1, ...row }])).toEqual([]);
  });

  test('are filtered as the API sent them, before transformations', async () => {
    const selector = { record_filter: { type: 'RecordFilter', condition: "{{ record.status != 'deleted' }}" } };
    const data = [{ id: 1, status: 'deleted' }, { id: 2, status: 'ok' }, { id: 3 }];
    const rows = [
      { id: 2, status: 'x' },
      { id: 3, status: 'x' },
    ];
    expect(await delivered([add(['status'], 'x')], data, rows, selector)).toEqual([]);
    expect(await delivered([], data, [{ id: 2 }, { id: 3 }], selector)).toEqual([]);
  });

  test('of a stream without key are identified by their content, which is not delivered', async () => {
    const result = imported([streamOf({ stream: { primary_key: [] } })]);
    const issues = await run(result, {
      mocks: [mock('/items', { data: [{ a: 1 }, { a: 1 }, { a: 2 }] })],
      expect: { delivered: [{ a: 1 }, { a: 2 }], stats: { recordsOut: 2 } },
    });
    expect(issues).toEqual([]);
    expect(resourceOf(result)['transform']).toContain('airbyte_content');
  });

  test('are cast to the scalars of a schema that the manifest holds', async () => {
    const schema = {
      type: 'object',
      properties: { n: { type: ['null', 'integer'] }, o: { type: 'object', properties: { s: { type: 'string' } } } },
    };
    const result = imported([
      streamOf({
        stream: { schema_loader: { type: 'InlineSchemaLoader', schema } },
        selector: { schema_normalization: 'Default' },
      }),
    ]);
    const issues = await run(result, {
      mocks: [mock('/items', { data: [{ id: 1, n: '5', o: { s: 7 } }] })],
      expect: { delivered: [{ id: 1, n: 5, o: { s: '7' } }] },
    });
    expect(issues).toEqual([]);
  });

  test.each([
    [['data', '*', 'item'], { records: 'data', map: '`item`' }],
    [[], { records: '$' }],
  ])('at %j are selected', (field_path, response) => {
    const result = imported([streamOf({ selector: { extractor: { type: 'DpathExtractor', field_path } } })]);
    expect(resourceOf(result)['response']).toMatchObject(response);
  });

  test.each([
    [
      'the values of an object',
      { extractor: { type: 'DpathExtractor', field_path: ['data', '*'] } },
      'extractor.field_path',
    ],
    [
      'several records of an item',
      { extractor: { field_path: [], record_expander: { expand_records_from_field: ['a'] } } },
      'extractor.record_expander',
    ],
    ['a Python class', { extractor: { type: 'CustomRecordExtractor', class_name: 'a.B' } }, 'extractor'],
  ])('that would be %s are refused', (_, selector, path) => {
    expect(refusalOf(imported([streamOf({ selector })]))[0]).toBe(`streams.0.retriever.record_selector.${path}`);
  });
});

const cursor = (more: object = {}) => ({
  type: 'DatetimeBasedCursor',
  cursor_field: 'at',
  datetime_format: '%Y-%m-%dT%H:%M:%SZ',
  start_datetime: "{{ config['start_date'] }}",
  ...more,
});
const bound = (field_name: string) => ({ type: 'RequestOption', inject_into: 'request_parameter', field_name });

describe('the cursor of an imported stream', () => {
  test('bounds the request from the start to now, in the format of the manifest', async () => {
    const incremental_sync = cursor({ start_time_option: bound('since'), end_time_option: bound('until') });
    const issues = await run(imported([streamOf({ stream: { incremental_sync } })]), {
      params: { start_date: '2026-01-01T00:00:00Z' },
      now: '2026-01-02T03:04:05Z',
      mocks: [mock('/items', { data: [{ id: 1, at: '2026-01-01T10:00:00Z' }] })],
      expect: {
        requests: [{ query: { since: '2026-01-01T00:00:00Z', until: '2026-01-02T03:04:05Z' } }],
        watermarkAfter: '2026-01-01T10:00:00.000Z',
      },
    });
    expect(issues).toEqual([]);
  });

  test('continues at the watermark, less the lookback', async () => {
    const incremental_sync = cursor({
      start_time_option: bound('since'),
      lookback_window: 'P1D',
      datetime_format: '%s',
    });
    const result = imported([
      streamOf({
        stream: {
          incremental_sync: {
            ...incremental_sync,
            start_datetime: { datetime: '2020-01-01', datetime_format: '%Y-%m-%d' },
          },
        },
      }),
    ]);
    const issues = await run(result, {
      watermark: '2026-01-02T00:00:00.000Z',
      now: '2026-01-03T00:00:00Z',
      mocks: [mock('/items', { data: [] })],
      expect: { requests: [{ query: { since: Date.UTC(2026, 0, 1) / 1000 } }] },
    });
    expect(issues).toEqual([]);
  });

  test('reads windows that end one granularity before the next begins', async () => {
    const incremental_sync = cursor({
      start_time_option: bound('since'),
      end_time_option: bound('until'),
      step: 'P1D',
      cursor_granularity: 'PT1S',
    });
    const issues = await run(imported([streamOf({ stream: { incremental_sync } })]), {
      params: { start_date: '2026-01-01T00:00:00Z' },
      now: '2026-01-02T12:00:00Z',
      mocks: [mock('/items', { data: [] })],
      expect: {
        requests: [
          { query: { since: '2026-01-01T00:00:00Z', until: '2026-01-01T23:59:59Z' } },
          { query: { since: '2026-01-02T00:00:00Z', until: '2026-01-02T12:00:00Z' } },
        ],
      },
    });
    expect(issues).toEqual([]);
  });

  test('filters here where the API cannot, and reads values in several forms', async () => {
    const incremental_sync = cursor({
      is_client_side_incremental: true,
      cursor_datetime_formats: ['%s', '%Y-%m-%dT%H:%M:%SZ'],
    });
    const issues = await run(imported([streamOf({ stream: { incremental_sync } })]), {
      params: { start_date: '2026-01-01T00:00:00Z' },
      now: '2026-02-01T00:00:00Z',
      mocks: [
        mock('/items', {
          data: [
            { id: 1, at: 1_700_000_000 },
            { id: 2, at: 1_767_312_000 },
            { id: 3, at: '2026-01-05T00:00:00Z' },
          ],
        }),
      ],
      expect: { delivered: [{ id: 2, at: 1_767_312_000 }, { id: 3 }], watermarkAfter: '2026-01-05T00:00:00.000Z' },
    });
    expect(issues).toEqual([]);
  });

  test('of a stream that is read by state in two ways is left out: every run reads all from the start', async () => {
    const whole = streamOf({ stream: { incremental_sync: cursor({ start_time_option: bound('since') }) } });
    const result = imported([
      { type: 'StateDelegatingStream', name: 'items', full_refresh_stream: whole, incremental_stream: whole },
    ]);
    expect(resourceOf(result)['incremental']).toBeUndefined();
    const issues = await run(result, {
      params: { start_date: '2026-01-01T00:00:00Z' },
      mocks: [mock('/items', { data: [] })],
      expect: { requests: [{ query: { since: '2026-01-01T00:00:00Z' } }] },
    });
    expect(issues).toEqual([]);
  });

  test('with windows whose end a connection decides is refused', () => {
    const incremental_sync = cursor({
      end_datetime: "{{ config['end_date'] }}",
      step: 'P1D',
      cursor_granularity: 'PT1S',
    });
    expect(refusalOf(imported([streamOf({ stream: { incremental_sync } })]))[0]).toBe(
      'streams.0.incremental_sync.end_datetime',
    );
  });
});

describe('the partitions of an imported stream', () => {
  test('are the values of a list', async () => {
    const partition_router = {
      type: 'ListPartitionRouter',
      cursor_field: 'kind',
      values: ['a', 'b'],
      request_option: bound('kind'),
    };
    const stream = streamOf({
      retriever: { partition_router },
      stream: { transformations: [add(['kind'], '{{ stream_partition.kind }}')] },
    });
    const issues = await run(imported([stream]), {
      mocks: [
        mock('/items', { data: [{ id: 1 }] }, { query: { kind: 'a' } }),
        mock('/items', { data: [{ id: 2 }] }, { query: { kind: 'b' } }),
      ],
      expect: {
        delivered: [
          { id: 1, kind: 'a' },
          { id: 2, kind: 'b' },
        ],
        requests: 2,
      },
    });
    expect(issues).toEqual([]);
  });

  test('are the records of a parent that is no stream itself, and of its parent', async () => {
    const child = (name: string, path: string, parent: unknown, value: string) =>
      streamOf({
        stream: { name, transformations: [add(['grandparent'], value)] },
        requester: { path },
        retriever: {
          partition_router: {
            type: 'SubstreamPartitionRouter',
            parent_stream_configs: [{ stream: parent, parent_key: 'id', partition_field: 'parent' }],
          },
        },
      });
    const top = streamOf({ stream: { name: 'tops' }, requester: { path: '/tops' } });
    const middle = child('middles', '/tops/{{ stream_partition.parent }}/middles', top, '');
    const leaf = child(
      'items',
      '/middles/{{ stream_partition.parent }}/items',
      middle,
      '{{ stream_partition.parent_slice.parent }}',
    );
    const result = imported([leaf]);
    expect(result.report).toHaveLength(1);
    const issues = await run(result, {
      mocks: [
        mock('/tops', { data: [{ id: 't1' }] }),
        mock('/tops/t1/middles', { data: [{ id: 'm1' }] }),
        mock('/middles/m1/items', { data: [{ id: 'i1' }] }),
      ],
      expect: { delivered: [{ id: 'i1', grandparent: 't1' }], requests: 3 },
    });
    expect(issues).toEqual([]);
  });

  test('are those of several routers, and groups of them in one request', async () => {
    const parent = (name: string) => streamOf({ stream: { name }, requester: { path: `/${name}` } });
    const of = (stream: unknown) => ({
      type: 'SubstreamPartitionRouter',
      parent_stream_configs: [{ stream, parent_key: 'id', partition_field: 'place' }],
    });
    const union = {
      type: 'UnionPartitionRouter',
      partition_field: 'place',
      partition_routers: [of(parent('as')), of(parent('bs'))],
    };
    const group = { type: 'GroupingPartitionRouter', group_size: 2, underlying_partition_router: union };
    const requester = { request_parameters: { ids: "{{ stream_partition.place | join(',') }}" } };
    const issues = await run(imported([streamOf({ requester, retriever: { partition_router: group } })]), {
      mocks: [
        mock('/as', { data: [{ id: 'a1' }, { id: 'a2' }] }),
        mock('/bs', { data: [{ id: 'b1' }] }),
        mock('/items', { data: [{ id: 1 }] }, { query: { ids: 'a1,a2' } }),
        mock('/items', { data: [{ id: 2 }] }, { query: { ids: 'b1' } }),
      ],
      expect: { delivered: [{ id: 1 }, { id: 2 }], requests: 4 },
    });
    expect(issues).toEqual([]);
    const single = streamOf({
      requester: { path: '/{{ stream_partition.place }}/items' },
      retriever: { partition_router: union },
    });
    expect(resourceOf(imported([single]))['forEach']).toMatchObject([
      {
        as: 'place',
        union: [
          { resource: 'as_parent', value: 'id' },
          { resource: 'bs_parent', value: 'id' },
        ],
      },
    ]);
  });

  test('with a parent that is refused are refused with its reason', () => {
    const parent = streamOf({ stream: { name: 'parents' }, requester: { http_method: 'DELETE' } });
    const stream = streamOf({
      retriever: {
        partition_router: {
          type: 'SubstreamPartitionRouter',
          parent_stream_configs: [{ stream: parent, parent_key: 'id', partition_field: 'p' }],
        },
      },
    });
    expect(refusalOf(imported([stream]))).toEqual([
      'streams.0.retriever.partition_router.parent_stream_configs.0.stream.retriever.requester.http_method',
      expect.stringContaining('GET and POST'),
    ]);
  });
});
