import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { imported, mock, refusalOf, runImported, streamOf } from './airbyte-fixture.ts';

const evaluator = createTestEvaluator();
const run = runImported(evaluator);
afterAll(() => evaluator[Symbol.asyncDispose]());

type Part = Readonly<Record<string, unknown>>;

const chunking = (more: Part = {}): Part => ({
  type: 'PropertyChunking',
  property_limit_type: 'property_count',
  property_limit: 2,
  record_merge_strategy: { type: 'GroupByKeyMergeStrategy', key: 'id' },
  ...more,
});

const listing = (more: Part, selector: Part = {}): Part =>
  streamOf({
    selector,
    requester: {
      request_parameters: {
        fields: {
          type: 'QueryProperties',
          property_list: ['a', 'b', 'c'],
          always_include_properties: ['id'],
          ...more,
        },
      },
    },
  });

describe('a parameter that lists properties', () => {
  test('is one text where one request takes all', async () => {
    const issues = await run(imported([listing({})]), {
      mocks: [mock('/items', { data: [{ id: 1, a: 2 }] }, { query: { fields: 'id,a,b,c' } })],
      expect: { delivered: [{ id: 1, a: 2 }] },
    });
    expect(issues).toEqual([]);
  });

  test('is requested in chunks, whose records are merged by the key', async () => {
    const issues = await run(imported([listing({ property_chunking: chunking() })]), {
      mocks: [
        mock('/items', { data: [{ id: 1, p: { a: 1 } }, { id: 2 }] }, { query: { fields: 'id,a,b' } }),
        mock('/items', { data: [{ id: 1, p: { c: 3 } }] }, { query: { fields: 'id,c' } }),
      ],
      expect: { delivered: [{ id: 1, p: { a: 1, c: 3 } }, { id: 2 }], requests: 2 },
    });
    expect(issues).toEqual([]);
  });

  test.each<[string, Part]>([
    ['names of an endpoint', listing({ property_list: { type: 'PropertiesFromEndpoint' } })],
    ['a limit of characters', listing({ property_chunking: chunking({ property_limit_type: 'characters' }) })],
    ['no key to merge by', listing({ property_chunking: chunking({ record_merge_strategy: null }) })],
    [
      'a filter over the parts of a record',
      listing(
        { property_chunking: chunking() },
        { record_filter: { type: 'RecordFilter', condition: '{{ record.a == 1 }}' } },
      ),
    ],
  ])('is refused with %s', (_name, stream) => {
    expect(refusalOf(imported([stream]))[0]).toContain('streams.0.retriever');
  });
});
