import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import {
  addFields,
  imported,
  mock,
  queryOption,
  refusalOf,
  resourceOf,
  runImported,
  streamOf,
} from './airbyte-fixture.ts';

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

describe('the records of an imported stream', () => {
  test.each<[name: string, transformation: object, item: object, row: object]>([
    ['a field of the record', addFields(['b'], "{{ record['a'] }}"), { a: 'x' }, { a: 'x', b: 'x' }],
    ['a number in a text', addFields(['b'], "{{ record['a'] }}"), { a: '12' }, { b: 12 }],
    [
      'a text that stays one',
      addFields(['b'], "{{ record['a'] }}", { value_type: 'string' }),
      { a: '12' },
      { b: '12' },
    ],
    ['a missing field as an empty text', addFields(['b'], "{{ record['a'] }}"), {}, { b: '' }],
    ['a value of the connection', addFields(['b'], "{{ config['region'] }}"), {}, { b: 'eu' }],
    ['a field inside objects', addFields(['b', 'c'], 'x'), { b: { d: 1 } }, { b: { d: 1, c: 'x' } }],
    ['a field on a condition', { ...addFields(['b'], 'x'), condition: '{{ record.a }}' }, { a: 0 }, { a: 0 }],
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
    expect(await delivered([addFields(['status'], 'x')], data, rows, selector)).toEqual([]);
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
    expect(result.report[0]).toMatchObject({ status: 'converted', reason: expect.stringContaining('Set primaryKey') });
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
    [['data', '*', 'item'], { records: 'data.*.item' }],
    [['*', '*'], { records: '*.*', successWhen: '$type(body) != "array" or $count(body) = 0' }],
    [[], { records: '$' }],
  ])('at %j are selected', (field_path, response) => {
    const result = imported([streamOf({ selector: { extractor: { type: 'DpathExtractor', field_path } } })]);
    expect(resourceOf(result)['response']).toMatchObject(response);
  });

  test('at a path with * are those that dpath finds, in its order', async () => {
    const streamAt = (field_path: readonly string[]) =>
      imported([streamOf({ selector: { extractor: { type: 'DpathExtractor', field_path } } })]);
    const rows = [{ id: 1 }, { id: 2 }, { id: 3 }];
    const values = { data: { b: { id: 1 }, a: { id: 2 }, c: { id: 3 } } };
    const lists = { data: [{ x: [{ id: 1 }, { id: 2 }] }, {}, { x: null }, 'text', { x: { k: { id: 3 } } }] };
    const parts = { data: [{ x: { id: 1 } }, { y: 1 }, { x: { id: 2 } }, { x: { id: 3 } }] };
    for (const [path, body] of [
      [['data', '*'], values],
      [['data', '*', 'x', '*'], lists],
      [['*', '*'], values],
      [['data', '*', 'x'], parts],
    ] as const) {
      expect(await run(streamAt(path), { mocks: [mock('/items', body)], expect: { delivered: rows } })).toEqual([]);
    }
    const none = { mocks: [mock('/items', { other: 1 })], expect: { delivered: [] } };
    expect(await run(streamAt(['data', '*']), none)).toEqual([]);
    const list = { mocks: [mock('/items', [{ a: { id: 1 } }])], expect: { delivered: [] } };
    expect((await run(streamAt(['*']), list)).join()).toContain('successWhen is not true');
  });

  const offsets = (field_path: readonly string[]) =>
    imported([
      streamOf({
        selector: { extractor: { type: 'DpathExtractor', field_path } },
        retriever: {
          paginator: {
            type: 'DefaultPaginator',
            page_token_option: queryOption('offset'),
            pagination_strategy: { type: 'OffsetIncrement', page_size: 2 },
          },
        },
      }),
    ]);

  test.each<[path: readonly string[], first: unknown, second: unknown]>([
    [['data', '*'], { a: { id: 1 }, b: { id: 2 } }, { c: { id: 3 } }],
    [['data', '*'], [{ id: 1 }, { id: 2 }], [{ id: 3 }]],
    [
      ['data', '*', 'x'],
      [{ x: { id: 1 } }, 'text', {}, { x: null }, { x: { id: 2 } }],
      [{ x: { id: 3 } }, {}],
    ],
    [['data', '*', 'x'], { a: { x: { id: 1 } }, b: 1, c: { x: { id: 2 } } }, { d: { x: { id: 3 } } }],
  ])('at %j are counted for the next page: %j', async (path, first, second) => {
    const mocks = [
      mock('/items', { data: first }, { query: { offset: null } }),
      mock('/items', { data: second }, { query: { offset: '2' } }),
    ];
    const rows = [{ id: 1 }, { id: 2 }, { id: 3 }];
    expect(await run(offsets(path), { mocks, expect: { delivered: rows } })).toEqual([]);
  });

  test('at a path with several * are not counted', () => {
    expect(refusalOf(offsets(['data', '*', 'x', '*']))[1]).toContain('are not counted');
  });

  test.each(['JsonlDecoder', 'CsvDecoder'])('of a file by lines (%s) are not looked for below a path', (type) => {
    const result = imported([streamOf({ retriever: { decoder: { type } } })]);
    expect(refusalOf(result)[1]).toContain('one list of items');
  });

  test.each([
    ['utf', true],
    ['UTF-8-SIG', true],
    ['latin-1', false],
  ])('in the encoding %s are read: %j', (encoding, isRead) => {
    const decoder = { type: 'CsvDecoder', encoding };
    const selector = { extractor: { type: 'DpathExtractor', field_path: [] } };
    const [path] = refusalOf(imported([streamOf({ retriever: { decoder }, selector })]));
    expect(path).toBe(isRead ? null : 'streams.0.retriever.decoder.encoding');
  });

  test.each([
    [
      'at names with a pattern',
      { extractor: { type: 'DpathExtractor', field_path: ['data', 'it*'] } },
      'extractor.field_path',
    ],
    [
      'at more places than a path has',
      { extractor: { type: 'DpathExtractor', field_path: Array.from({ length: 9 }, () => '*') } },
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
