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

describe('the partitions of an imported stream', () => {
  test('are the values of a list', async () => {
    const partition_router = {
      type: 'ListPartitionRouter',
      cursor_field: 'kind',
      values: ['a', 'b'],
      request_option: queryOption('kind'),
    };
    const stream = streamOf({
      retriever: { partition_router },
      stream: { transformations: [addFields(['kind'], '{{ stream_partition.kind }}')] },
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

  test('have no other names than the router gives: such a value is an empty text', async () => {
    const partition_router = { type: 'ListPartitionRouter', cursor_field: 'kind', values: ['a'] };
    const stream = streamOf({
      requester: {
        path: '/items/{{ stream_partition.kind }}',
        request_parameters: { id: '{{ stream_partition.id }}' },
      },
      retriever: { partition_router },
      stream: { transformations: [addFields(['kind_id'], "{{ stream_partition['id'] }}")] },
    });
    const issues = await run(imported([stream]), {
      mocks: [mock('/items/a', { data: [{ id: 1 }] })],
      expect: { delivered: [{ id: 1, kind_id: '' }], requests: [{ path: '/items/a', query: { id: null } }] },
    });
    expect(issues).toEqual([]);
  });

  test('are the records of a parent that is no stream itself, and of its parent', async () => {
    const child = (name: string, path: string, parent: unknown, value: string) =>
      streamOf({
        stream: { name, transformations: [addFields(['grandparent'], value)] },
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
