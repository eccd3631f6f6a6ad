import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { imported, mock, refusalOf, resourceOf, runImported, streamOf } from './airbyte-fixture.ts';

const evaluator = createTestEvaluator();
const run = runImported(evaluator);
afterAll(() => evaluator[Symbol.asyncDispose]());

type Part = Readonly<Record<string, unknown>>;

const option = (name: string): Part => ({ type: 'RequestOption', inject_into: 'request_parameter', field_name: name });
const filter = (action: string, more: Part): Part => ({ type: 'HttpResponseFilter', action, ...more });
const cursor = { type: 'CursorPagination', page_size: 4, cursor_value: "{{ response.get('next') }}" };

/** A stream whose pages become smaller at 413. */
const shrinking = (
  strategy: Part,
  filters: readonly Part[] = [filter('REDUCE_PAGE_SIZE', { http_codes: [413] })],
): Part =>
  streamOf({
    requester: { error_handler: { type: 'DefaultErrorHandler', response_filters: filters } },
    retriever: {
      page_size_reduction: { type: 'PageSizeReduction', minimum_page_size: 2 },
      paginator: {
        type: 'DefaultPaginator',
        pagination_strategy: strategy,
        page_token_option: option('after'),
        page_size_option: option('limit'),
      },
    },
  });

describe('a stream whose pages become smaller', () => {
  test('requests the same position again at half the size', async () => {
    const issues = await run(imported([shrinking(cursor)]), {
      mocks: [
        { request: { path: '/items', query: { limit: 4 } }, respond: { status: 413, body: {} } },
        mock('/items', { data: [{ id: 2 }] }, { query: { limit: 2, after: 'x' } }),
        mock('/items', { data: [{ id: 1 }], next: 'x' }, { query: { limit: 2 } }),
      ],
      expect: { delivered: [{ id: 1 }, { id: 2 }], requests: 3 },
    });
    expect(issues).toEqual([]);
  });

  test('keeps its other error rules, and the statuses of several rules', () => {
    const filters = [
      filter('IGNORE', { http_codes: [404] }),
      filter('REDUCE_PAGE_SIZE', { http_codes: [413] }),
      filter('REDUCE_PAGE_SIZE', { http_codes: [500] }),
    ];
    const resource = resourceOf(imported([shrinking(cursor, filters)]));
    expect(resource['pagination']).toMatchObject({ shrink: { when: { status: [413, 500] }, min: 2 } });
    expect(resource['errors']).toEqual([{ when: { status: [404] }, action: 'empty' }]);
  });

  test.each<[string, Part]>([
    [
      'with a rule over the body after another rule',
      shrinking(cursor, [
        filter('FAIL', { http_codes: [400] }),
        filter('REDUCE_PAGE_SIZE', { predicate: "{{ 'large' in response }}" }),
      ]),
    ],
    ['with page numbers', shrinking({ type: 'PageIncrement', page_size: 4 })],
    ['with offsets that the first request lacks', shrinking({ type: 'OffsetIncrement', page_size: 4 })],
    [
      'with a last page that is known by its size',
      shrinking({ ...cursor, stop_condition: '{{ last_page_size < 4 }}' }),
    ],
  ])('is refused %s', (_name, stream) => {
    expect(refusalOf(imported([stream]))[0]).toContain('streams.0.retriever');
  });
});
