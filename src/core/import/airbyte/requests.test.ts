import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { renderUrl } from '../../source/request/url-template.ts';
import { imported, mock, refusalOf, resourceOf, runImported, streamOf } from './airbyte-fixture.ts';

const evaluator = createTestEvaluator();
const run = runImported(evaluator);
afterAll(() => evaluator[Symbol.asyncDispose]());

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
      'SessionTokenAuthenticator',
      {
        login_requester: { url_base: "https://{{ config['site'] }}.test", path: '/login', http_method: 'POST' },
        session_token_path: ['token'],
        request_authentication: { type: 'Bearer' },
      },
      {
        kind: 'session',
        login: { method: 'POST', url: 'https://{{ params.site }}.test/login' },
        tokenFrom: 'body.token',
        put: { in: 'header', name: 'Authorization', prefix: 'Bearer ' },
      },
    ],
    [
      'LegacySessionTokenAuthenticator',
      {
        username: "{{ config['user'] }}",
        password: "{{ config['password'] }}",
        session_token: "{{ config['session_token'] }}",
        header: 'X-Session',
        login_url: '/session',
        session_token_response_key: 'id',
      },
      {
        kind: 'session',
        login: {
          method: 'POST',
          url: 'https://api.test/v1/session',
          body: { json: { username: '{{ params.user }}', password: '{{ secrets.password }}' } },
        },
        tokenFrom: 'body.id',
        put: { in: 'header', name: 'X-Session', prefix: '' },
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

  test('has an object in its body that the manifest writes as a text', async () => {
    const request_body_json = {
      filter: '{"from": "{{ config["day"] }}T00", "kinds": ["{{ parameters.kind }}", "b"], "n": 1}',
      day: '{% if config.day %}{{ config.day }}{% else %}none{% endif %}',
    };
    const stream = streamOf({ requester: { http_method: 'POST', request_body_json, $parameters: { kind: 'a' } } });
    const issues = await run(imported([stream]), {
      params: { day: '2026-01-01' },
      mocks: [mock('/items', { data: [] }, { method: 'POST' })],
      expect: {
        requests: [{ body: { filter: { from: '2026-01-01T00', kinds: ['a', 'b'], n: 1 }, day: '2026-01-01' } }],
      },
    });
    expect(issues).toEqual([]);
  });

  test.each(['{"from": {{ config.day }}}', '{"{{ config.day }}": 1}'])('with the text %s is refused', (filter) => {
    const requester = { http_method: 'POST', request_body_json: { filter } };
    expect(refusalOf(imported([streamOf({ requester })]))).toEqual([
      'streams.0.retriever.requester.request_body_json.filter',
      expect.stringContaining('values in quotes'),
    ]);
  });

  test.each([
    ['us', 'https://api.test/v1'],
    ['eu', 'https://api-eu.eu.api.test/v1'],
  ])('goes to the host that an expression makes up: %s', async (region, address) => {
    const url_base = "https://{{ 'api-' + config.region + '.eu.' if config.region != 'us' }}api.test/v1";
    const { http } = imported([streamOf({ requester: { url_base } })]).spec;
    const base = typeof http === 'object' && http !== null && 'baseUrl' in http ? String(http.baseUrl) : '';
    const fill = async (expression: string): Promise<unknown> =>
      await evaluator.evaluate({ expression, input: { params: { region } }, now: new Date() });
    expect((await renderUrl(base, fill)).href).toBe(address);
  });

  test('logs in below an address that ends with a slash, or not', () => {
    const authenticator = {
      type: 'LegacySessionTokenAuthenticator',
      ...{ username: 'u', password: 'p', header: 'X', login_url: 'session', session_token_response_key: 'id' },
    };
    const requester = { url_base: "{{ config['base'] }}", authenticator };
    expect(imported([streamOf({ requester })]).spec).toMatchObject({
      auth: { login: { url: '{{ $replace(params.base, /\\/$/, "") }}/session' } },
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
