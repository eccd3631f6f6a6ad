import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { imported, mock, refusalOf, resourceOf, runImported, streamOf } from './airbyte-fixture.ts';

const evaluator = createTestEvaluator();
const run = runImported(evaluator);
afterAll(() => evaluator[Symbol.asyncDispose]());

const option = (name: string, place = 'request_parameter') => ({
  type: 'RequestOption',
  inject_into: place,
  field_name: name,
});

const paginated = (strategy: object, more: object = {}) =>
  streamOf({ retriever: { paginator: { type: 'DefaultPaginator', pagination_strategy: strategy, ...more } } });

const items = (...ids: readonly number[]) => ids.map((id) => ({ id }));

describe('a paginator of an imported stream', () => {
  test('that counts pages sends no number first, as the CDK, and ends with a short page', async () => {
    const stream = paginated(
      { type: 'PageIncrement', page_size: 2, start_from_page: 1 },
      { page_token_option: option('page'), page_size_option: option('limit') },
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
      { page_token_option: option('page') },
    );
    expect(resourceOf(imported([stream]))['pagination']).toEqual({
      kind: 'page',
      size: 2,
      start: 1,
      inject: { in: 'query', name: 'page' },
    });
  });

  test('that counts items moves by the items returned', async () => {
    const stream = paginated({ type: 'OffsetIncrement', page_size: 2 }, { page_token_option: option('offset') });
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
          page_token_option: option('after'),
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
      { page_token_option: option('cursor') },
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
      { page_token_option: option('after') },
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

  test('that reads a changed field of the last record is refused', () => {
    const stream = paginated(
      { type: 'CursorPagination', cursor_value: "{{ last_record['id'] }}" },
      { page_token_option: option('after') },
    );
    const changed = { ...stream, transformations: [{ type: 'AddFields', fields: [{ path: ['id'], value: 'x' }] }] };
    expect(refusalOf(imported([changed]))).toEqual([
      'streams.0.retriever.paginator.pagination_strategy.cursor_value',
      expect.stringContaining('transformations of the stream change'),
    ]);
  });
});

describe('a request of an imported stream', () => {
  test('sends parameters as Python shows them, and leaves out empty ones', async () => {
    const stream = streamOf({
      requester: {
        request_parameters: {
          active: '{{ true }}',
          none: "{{ '' }}",
          expand: "['a', 'b']",
          size: '100',
          name: "{{ config['name'] }}",
          kind: "{{ parameters['kind'] }}",
        },
        request_headers: { 'X-Version': '2024-01-01' },
        $parameters: { kind: 'full' },
      },
    });
    const issues = await run(imported([stream]), {
      params: { name: 'n' },
      mocks: [mock('/items', { data: [] })],
      expect: {
        requests: [
          {
            query: { active: 'True', none: null, expand: ['a', 'b'], size: 100, name: 'n', kind: 'full' },
            headers: { 'x-version': '2024-01-01' },
          },
        ],
      },
    });
    expect(issues).toEqual([]);
  });

  test('moves a secret parameter into the authentication, and refuses one in the address', () => {
    const spec = {
      type: 'Spec',
      connection_specification: { properties: { token: { type: 'string', airbyte_secret: true } } },
    };
    const moved = imported([streamOf({ requester: { request_parameters: { key: "{{ config['token'] }}" } } })], {
      spec,
    });
    expect(moved.spec).toMatchObject({
      auth: { kind: 'api_key', in: 'query', name: 'key', value: '{{ secrets.token }}' },
      connectionParams: [{ key: 'token', type: 'string', secret: true }],
    });
    const refused = imported([streamOf({ requester: { path: "/{{ config['token'] }}/items" } })], { spec });
    expect(refusalOf(refused)[1]).toContain('a secret would be part of the address');
  });

  test.each([
    ['a list as a text', { request_parameters: { a: "['{{ config.x }}', 'b']" } }, 'request_parameters.a'],
    ['a method that writes', { http_method: 'PUT' }, 'http_method'],
    [
      'an unknown authenticator',
      { authenticator: { type: 'CustomAuthenticator', class_name: 'x.Y' } },
      'authenticator',
    ],
  ])('with %s is refused', (_, requester, key) => {
    expect(refusalOf(imported([streamOf({ requester })]))[0]).toBe(`streams.0.retriever.requester.${key}`);
  });

  test.each<[type: string, authenticator: object, auth: object]>([
    [
      'BearerAuthenticator',
      { api_token: "{{ config['api_token'] }}" },
      { kind: 'bearer', token: '{{ secrets.api_token }}' },
    ],
    [
      'BasicHttpAuthenticator',
      { username: "{{ config['user'] }}", password: "{{ config['password'] }}" },
      { kind: 'basic', username: '{{ params.user }}', password: '{{ secrets.password }}' },
    ],
    [
      'ApiKeyAuthenticator',
      { api_token: "Token {{ config['api_key'] }}", header: 'X-Key' },
      { kind: 'api_key', in: 'header', name: 'X-Key', value: '{{ ("Token " & secrets.api_key) }}' },
    ],
    [
      'OAuthAuthenticator',
      {
        token_refresh_endpoint: 'https://auth.test/token',
        client_id: "{{ config['client_id'] }}",
        client_secret: "{{ config['client_secret'] }}",
        refresh_token: "{{ config['refresh_token'] }}",
      },
      {
        kind: 'session',
        login: {
          method: 'POST',
          url: 'https://auth.test/token',
          body: { form: { grant_type: 'refresh_token', refresh_token: '{{ secrets.refresh_token }}' } },
        },
        tokenFrom: 'body.access_token',
      },
    ],
    [
      'JwtAuthenticator',
      { secret_key: "{{ config['api_secret'] }}", algorithm: 'HS256', jwt_payload: { iss: "{{ config['issuer'] }}" } },
      { kind: 'jwt', algorithm: 'HS256', claims: { iss: '{{ params.issuer }}' } },
    ],
  ])('authenticates by %s', (type, authenticator, auth) => {
    expect(imported([streamOf({ requester: { authenticator: { type, ...authenticator } } })]).spec).toMatchObject({
      auth,
    });
  });

  test('chooses one of several authenticators and says so', () => {
    const authenticator = {
      type: 'SelectiveAuthenticator',
      authenticator_selection_path: ['credentials', 'kind'],
      authenticators: {
        oauth: { type: 'OAuthAuthenticator', token_refresh_endpoint: 'https://auth.test/token' },
        key: { type: 'BearerAuthenticator', api_token: "{{ config['credentials']['api_key'] }}" },
      },
    };
    const result = imported([streamOf({ requester: { authenticator } })]);
    expect(result.spec).toMatchObject({ auth: { kind: 'bearer', token: '{{ secrets.credentials_api_key }}' } });
    expect(resourceOf(result)['description']).toContain('"key" was chosen');
  });

  test('has the error rules of its handlers in their order', () => {
    const error_handler = {
      type: 'CompositeErrorHandler',
      error_handlers: [
        {
          type: 'DefaultErrorHandler',
          response_filters: [
            { http_codes: [404], action: 'IGNORE' },
            { predicate: "{{ response.code == 'busy' }}", action: 'RETRY' },
          ],
        },
        {
          type: 'DefaultErrorHandler',
          backoff_strategies: [{ type: 'WaitTimeFromHeader', header: 'X-Wait' }],
          response_filters: [{ http_codes: [403], action: 'FAIL', error_message: 'No access' }],
        },
      ],
    };
    expect(resourceOf(imported([streamOf({ requester: { error_handler } })]))['errors']).toEqual([
      { when: { status: [404] }, action: 'empty' },
      { when: { expr: '(body.code = "busy")' }, action: 'retry' },
      { when: { status: [403] }, action: 'fail', message: 'No access' },
      { when: { status: [429, 503] }, action: 'rate_limited', waitFrom: { header: 'X-Wait', format: 'seconds' } },
    ]);
  });

  test('wait between retries as the service does where the manifest has Python for that, and the resource says so', () => {
    const error_handler = {
      type: 'DefaultErrorHandler',
      backoff_strategies: [{ type: 'CustomBackoffStrategy', class_name: 'acme.Backoff' }],
      response_filters: [{ type: 'HttpResponseFilter', http_codes: [400], action: 'RETRY' }],
    };
    const resource = resourceOf(imported([streamOf({ requester: { error_handler } })]));
    expect(resource['errors']).toEqual([{ when: { status: [400] }, action: 'retry' }]);
    expect(resource['description']).toContain('the manifest has Python for that');
  });
});
