import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { imported, mock, queryOption, refusalOf, resourceOf, runImported, streamOf } from './airbyte-fixture.ts';

const evaluator = createTestEvaluator();
const run = runImported(evaluator);
afterAll(() => evaluator[Symbol.asyncDispose]());

const paginated = (strategy: object, more: object = {}) =>
  streamOf({ retriever: { paginator: { type: 'DefaultPaginator', pagination_strategy: strategy, ...more } } });

const items = (...ids: readonly number[]) => ids.map((id) => ({ id }));

describe('a paginator of an imported stream', () => {
  test('that counts pages sends no number first, as the CDK, and ends with a short page', async () => {
    const stream = paginated(
      { type: 'PageIncrement', page_size: 2, start_from_page: 1 },
      { page_token_option: queryOption('page'), page_size_option: queryOption('limit') },
    );
    const issues = await run(imported([stream]), {
      mocks: [mock('/items', { data: items(3) }, { query: { page: 2 } }), mock('/items', { data: items(1, 2) })],
      expect: {
        delivered: items(1, 2, 3),
        requests: [
          { path: '/items', query: { limit: 2, page: null } },
          { path: '/items', query: { limit: 2, page: 2 } },
        ],
      },
    });
    expect(issues).toEqual([]);
  });

  test('that counts pages from the first request on is of kind page', () => {
    const stream = paginated(
      { type: 'PageIncrement', page_size: 2, start_from_page: 1, inject_on_first_request: true },
      { page_token_option: queryOption('page') },
    );
    expect(resourceOf(imported([stream]))['pagination']).toEqual({
      kind: 'page',
      size: 2,
      start: 1,
      inject: { in: 'query', name: 'page' },
    });
  });

  test('that counts items moves by the items returned', async () => {
    const stream = paginated({ type: 'OffsetIncrement', page_size: 2 }, { page_token_option: queryOption('offset') });
    const issues = await run(imported([stream]), {
      mocks: [
        mock('/items', { data: items(3) }, { query: { offset: 2 } }),
        mock('/items', { data: items(1, 2) }, { query: { offset: null } }),
      ],
      expect: { delivered: items(1, 2, 3), requests: 2 },
    });
    expect(issues).toEqual([]);
  });

  test('with a cursor in the body of a POST puts it there, and ends by its stop condition', async () => {
    const stream = streamOf({
      requester: { http_method: 'POST', request_body_json: { filter: { a: '1' } } },
      retriever: {
        paginator: {
          type: 'DefaultPaginator',
          page_token_option: { type: 'RequestOption', inject_into: 'body_json', field_path: ['page', 'after'] },
          pagination_strategy: {
            type: 'CursorPagination',
            cursor_value: "{{ response.get('next', {}).get('cursor') }}",
            stop_condition: "{{ not response.get('more') }}",
          },
        },
      },
    });
    const issues = await run(imported([stream]), {
      mocks: [
        mock('/items', { data: items(2), more: false, next: { cursor: 'c3' } }, { body: { page: { after: 'c2' } } }),
        mock('/items', { data: items(1), more: true, next: { cursor: 'c2' } }),
      ],
      expect: {
        delivered: items(1, 2),
        requests: [{ method: 'POST', body: { filter: { a: 1 } } }, { method: 'POST' }],
      },
    });
    expect(issues).toEqual([]);
  });

  test('with an address follows it, and the Link header by its own kind', async () => {
    const next = paginated(
      { type: 'CursorPagination', cursor_value: '{{ response.links.next }}' },
      { page_token_option: { type: 'RequestPath' } },
    );
    const issues = await run(imported([next]), {
      mocks: [
        mock('/items', { data: items(2), links: {} }, { query: { p: 2 } }),
        mock('/items', { data: items(1), links: { next: 'https://api.test/v1/items?p=2' } }),
      ],
      expect: { delivered: items(1, 2), requests: 2 },
    });
    expect(issues).toEqual([]);
    const link = paginated(
      { type: 'CursorPagination', cursor_value: "{{ headers['link']['next']['url'] }}" },
      { page_token_option: { type: 'RequestPath' } },
    );
    expect(resourceOf(imported([link]))['pagination']).toEqual({ kind: 'link_header' });
  });

  test('sends what only the first page has with the first page alone', async () => {
    const stream = streamOf({
      requester: { request_parameters: { since: "{{ ['a', config['b']] if next_page_token is none else '' }}" } },
      retriever: {
        paginator: {
          type: 'DefaultPaginator',
          page_token_option: queryOption('after'),
          pagination_strategy: { type: 'CursorPagination', cursor_value: '{{ response.next }}' },
        },
      },
    });
    const issues = await run(imported([stream]), {
      params: { b: 'b' },
      mocks: [
        mock('/items', { data: items(2) }, { query: { after: 'x' } }),
        mock('/items', { data: items(1), next: 'x' }),
      ],
      expect: { requests: [{ query: { since: ['a', 'b'] } }, { query: { since: null, after: 'x' } }] },
    });
    expect(issues).toEqual([]);
  });

  test('with a parameter of the Link header sends it', async () => {
    const stream = paginated(
      { type: 'CursorPagination', cursor_value: "{{ headers['link'].get('next', {}).get('cursor', {}) }}" },
      { page_token_option: queryOption('cursor') },
    );
    const link =
      '<https://api.test/a>; rel="previous"; cursor="0:0", <https://api.test/b>; rel="next"; results="true"; cursor="0:1"';
    const issues = await run(imported([stream]), {
      mocks: [
        mock('/items', { data: items(2) }, { query: { cursor: '0:1' } }),
        { request: { path: '/items' }, respond: { headers: { link }, body: { data: items(1) } } },
      ],
      expect: { delivered: items(1, 2), requests: 2 },
    });
    expect(issues).toEqual([]);
  });

  test('whose token the response does not decide is refused', () => {
    const stream = paginated(
      { type: 'CursorPagination', cursor_value: "{{ 'a' }}" },
      { page_token_option: queryOption('after') },
    );
    expect(refusalOf(imported([stream]))[1]).toContain('does not depend on the response');
  });

  test('adds parameters of the request to an address that lacks them, as the CDK', async () => {
    const stream = streamOf({
      requester: { request_parameters: { 'expand[]': 'all', limit: '5' } },
      retriever: {
        paginator: {
          type: 'DefaultPaginator',
          page_token_option: { type: 'RequestPath' },
          pagination_strategy: { type: 'CursorPagination', cursor_value: '{{ response.next }}' },
        },
      },
    });
    const issues = await run(imported([stream]), {
      mocks: [
        mock('/items', { data: items(2) }, { query: { p: 2 } }),
        mock('/items', { data: items(1), next: 'https://api.test/v1/items?p=2&limit=9' }),
      ],
      expect: {
        delivered: items(1, 2),
        requests: [{ query: { 'expand[]': 'all', limit: 5 } }, { query: { p: 2, limit: 9, 'expand[]': 'all' } }],
      },
    });
    expect(issues).toEqual([]);
  });

  test('whose size option has no name sends no size', () => {
    const stream = paginated(
      { type: 'CursorPagination', page_size: 2, cursor_value: '{{ response.next }}' },
      { page_token_option: queryOption('after'), page_size_option: queryOption('') },
    );
    expect(resourceOf(imported([stream]))['request']).toEqual({ path: '/items' });
  });

  /** Partitions whose parameter only the first page carries. */
  const firstPageAloneByKind = {
    ignore_stream_slicer_parameters_on_paginated_requests: true,
    partition_router: {
      type: 'ListPartitionRouter',
      cursor_field: 'kind',
      values: ['a'],
      request_option: queryOption('kind'),
    },
  };

  test('leaves out what partitions and windows add from the second page on, where the manifest says so', async () => {
    const stream = streamOf({
      requester: { request_parameters: { fields: 'all' } },
      retriever: {
        ...firstPageAloneByKind,
        paginator: {
          type: 'DefaultPaginator',
          page_token_option: queryOption('after'),
          pagination_strategy: { type: 'CursorPagination', cursor_value: '{{ response.next }}' },
        },
      },
    });
    const issues = await run(imported([stream]), {
      mocks: [
        mock('/items', { data: items(2) }, { query: { after: 'x' } }),
        mock('/items', { data: items(1), next: 'x' }, { query: { kind: 'a' } }),
      ],
      expect: {
        delivered: items(1, 2),
        requests: [{ query: { fields: 'all', kind: 'a', after: null } }, { query: { fields: 'all', kind: null } }],
      },
    });
    expect(issues).toEqual([]);
  });

  test('that counts pages from the first request on and would leave out parameters later is refused', () => {
    const stream = streamOf({
      retriever: {
        ...firstPageAloneByKind,
        paginator: {
          type: 'DefaultPaginator',
          page_token_option: queryOption('page'),
          pagination_strategy: { type: 'PageIncrement', page_size: 2, inject_on_first_request: true },
        },
      },
    });
    expect(refusalOf(imported([stream]))[0]).toBe(
      'streams.0.retriever.ignore_stream_slicer_parameters_on_paginated_requests',
    );
  });

  test('that reads a changed field of the last record is refused', () => {
    const stream = paginated(
      { type: 'CursorPagination', cursor_value: "{{ last_record['id'] }}" },
      { page_token_option: queryOption('after') },
    );
    const changed = { ...stream, transformations: [{ type: 'AddFields', fields: [{ path: ['id'], value: 'x' }] }] };
    expect(refusalOf(imported([changed]))).toEqual([
      'streams.0.retriever.paginator.pagination_strategy.cursor_value',
      expect.stringContaining('transformations of the stream change'),
    ]);
  });
});
